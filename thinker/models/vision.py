"""Send pictures to models that can see them, and descriptions to the others."""

import re
from dataclasses import dataclass, replace
from typing import Literal

import structlog

from thinker.history import describe_images
from thinker.models.base import ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import format_headline
from thinker.protocol.degradations import Degradation, cut_words
from thinker.protocol.messages import UserMessage
from thinker.worker_errors import ContextOverflowError, FatalModelError

log = structlog.get_logger()

# Names that providers and local servers use; "vision" in agents.json corrects a wrong guess.
SEES = re.compile(
    r"claude-(?!2|instant)|gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-[5-9]|chatgpt-4o|\bo1\b(?!-mini)|\bo3\b(?!-mini)"
    r"|\bo4-mini|gemini|gemma-?3|llama-?4|llava|pixtral|moondream|minicpm-v|mistral-(?:small|medium)-3"
    r"|qwen[\d.]*-?(?:vl|omni)|internvl|glm-[\d.]+v|grok-[2-9].*vision|grok-4|vision|-vl\b|:vl\b",
    re.IGNORECASE,
)
MAX_MODEL = 200  # characters of a name that are searched


def can_see_images(model: str, setting: Literal["auto", "on", "off"]) -> bool:
    """Return whether a model sees pictures: by the setting, or for ``auto`` by its name."""
    return SEES.search(model[:MAX_MODEL]) is not None if setting == "auto" else setting == "on"


@dataclass(eq=False)
class VisionFilter(ModelWrapper):
    """A model that receives pictures if it can see them, otherwise descriptions.

    A request refused with pictures is repeated without them: a guess by name may be wrong, and a
    broken picture must not block the conversation.
    """

    sees: bool

    async def complete(self, request: ModelRequest) -> ModelResponse:
        messages = tuple(map(describe_images, request.messages))
        if messages == request.messages:
            return await self.model.complete(request)
        words = ""
        if self.sees:
            try:
                return await self.model.complete(request)
            except ContextOverflowError:
                raise
            except FatalModelError as error:
                log.warning("pictures_refused", model=self.name, error=format_headline(error))
                words = cut_words(str(error).partition(": ")[2])
        response = await self.model.complete(replace(request, messages=messages))
        newest = [one.images for one in request.messages if isinstance(one, UserMessage)][-1:]
        if not (words or any(newest)):  # earlier pictures were told with their own messages
            return response
        what = f"was described to {self.name}, which does not see it"
        lost = Degradation(kind="message", subject="a picture", what=what, words=words)
        return replace(response, degraded=(lost, *response.degraded))
