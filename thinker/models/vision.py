"""Which models see pictures; the others read what a picture is of, as far as that is known."""

import re
from dataclasses import replace
from typing import Literal

import structlog

from thinker.errors import ContextOverflowError, FatalModelError
from thinker.history import described
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import headline

log = structlog.get_logger()

# By the names under which providers and local servers offer them; a wrong guess is put right by
# "vision" in agents.json.
SEES = re.compile(
    r"claude-(?!2|instant)|gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-[5-9]|chatgpt-4o|\bo1\b(?!-mini)|\bo3\b(?!-mini)"
    r"|\bo4-mini|gemini|gemma-?3|llama-?4|llava|pixtral|moondream|minicpm-v|mistral-(?:small|medium)-3"
    r"|qwen[\d.]*-?(?:vl|omni)|internvl|glm-[\d.]+v|grok-[2-9].*vision|grok-4|vision|-vl\b|:vl\b",
    re.IGNORECASE,
)


def sees(model: str, setting: Literal["auto", "on", "off"]) -> bool:
    """Whether a model takes pictures: as it is set, else by its name."""
    return SEES.search(model) is not None if setting == "auto" else setting == "on"


class VisionFilter(ModelWrapper):
    """A model that is shown pictures, or descriptions in their place if it sees none.

    One that refuses a request with pictures is asked again without: a guess by name may be wrong,
    and a broken picture must not keep a conversation from going on.
    """

    def __init__(self, model: Model, *, sees: bool) -> None:
        super().__init__(model)
        self._sees = sees

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask the model inside.

        Raises:
            ModelError: what it raises.
        """
        messages = tuple(map(described, request.messages))
        if messages == request.messages:
            return await self._model.complete(request)
        if self._sees:
            try:
                return await self._model.complete(request)
            except ContextOverflowError:
                raise
            except FatalModelError as error:
                log.warning("pictures_refused", model=self.name, error=headline(error))
        return await self._model.complete(replace(request, messages=messages))
