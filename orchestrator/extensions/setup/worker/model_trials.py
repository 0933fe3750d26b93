"""Try a model's abilities, with one small call each, as an agent would make."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import anyio
import orjson

from orchestrator.extensions.setup.trial_requests import ModelTrialResult, Trial
from thinker import budget
from thinker.models.base import ModelRequest, ModelResponse
from thinker.models.choose import choose_single_model
from thinker.models.vision import can_see_images
from thinker.protocol.background import EmbeddingRequest
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import Image, JsonObject, ToolChoice, ToolSpec, Usage, UserMessage
from thinker.protocol.vectors import WIDTH
from thinker.worker_errors import ModelError

if TYPE_CHECKING:
    from thinker.models.embeddings import EmbeddingModel

TOKENS = 512  # of an answer; models that think need some before the first word
# 32 by 32 pixels, all red; some models refuse smaller ones.
RED = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQC"
    "gUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC"
)
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}
NUMBER: JsonObject = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
TOOL = ToolSpec(name="report_number", description="Reports a number.", parameters=NUMBER)
SILENT = "its answer is empty"
UNCALLED = "it answered in words and called no tool"
UNFORMED = "its answer does not have the requested form"
UNSEEN = 'it sees pictures, but its name does not tell; set "vision": true, or none is shown to it'


class ModelTrial(NamedTuple):
    """A trial's request, and a check that returns a problem of the answer, or an empty string."""

    request: ModelRequest
    problem: Callable[[ModelResponse], str]


async def run_trial(
    settings: ThinkerSettings, embeddings: "EmbeddingModel | None", trial: Trial
) -> ModelTrialResult:
    """Make the call of a trial; a failure becomes the ``problem`` of the result."""
    name = f"{settings.llm_provider}/{settings.model}"
    work: Awaitable[ModelTrialResult] = (
        _try_embeddings(embeddings) if trial == "embeddings" else _try_model(settings, trial)
    )
    try:
        return await work
    except ModelError as error:
        return ModelTrialResult(model=name, usage=Usage(), problem=str(error))


async def _try_embeddings(embeddings: "EmbeddingModel | None") -> ModelTrialResult:
    if embeddings is None:
        return ModelTrialResult(model="", usage=Usage(), problem="the agent has no embeddings")
    found = await embeddings.embed_texts(EmbeddingRequest(texts=("hello",)))
    note = f"{len(found.vectors[0]) // WIDTH} dimensions"
    return ModelTrialResult(
        model=found.model, usage=found.usage, call_ids=found.call_ids, note=note
    )


async def _try_model(settings: ThinkerSettings, trial: Trial) -> ModelTrialResult:
    """Call only this model, in the provider's own format, so that a refusal shows."""
    native = {"tool_calls": "native", "structured_output": "native"}
    model = choose_single_model(settings.model_copy(update=native), {})
    request, problem = TRIALS[trial]
    shown: list[float] = []  # times of the pieces of an answer
    if trial == "chat":
        request = replace(request, on_text=lambda _: shown.append(anyio.current_time()))
    began = anyio.current_time()
    try:
        response = await model.complete(request)
    finally:
        await model.aclose()
    unseen = trial == "images" and not can_see_images(settings.model, settings.vision)
    return ModelTrialResult(
        model=response.model,
        usage=budget.resolve_usage(response.usage, lambda: (request.characters, 0)),
        call_ids=response.call_ids,
        problem=problem(response),
        note=UNSEEN if unseen else "",
        before=shown[0] - began if shown else 0.0,
        rest=anyio.current_time() - shown[0] if shown else 0.0,
    )


def _check_spoke(response: ModelResponse) -> str:
    spoke = response.message.content.strip() or response.message.reasoning
    return "" if spoke or response.finish == "length" else SILENT


def _check_called(response: ModelResponse) -> str:
    return "" if any(call.name == TOOL.name for call in response.message.tool_calls) else UNCALLED


def _check_form(response: ModelResponse) -> str:
    try:
        found = orjson.loads(response.message.content)
    except ValueError:
        return UNFORMED
    return "" if isinstance(found, dict) and "colour" in found else UNFORMED


def _build_messages(text: str, *images: Image) -> tuple[UserMessage, ...]:
    return (UserMessage(content=text, images=images),)


TRIALS: Mapping[Trial, ModelTrial] = {
    "chat": ModelTrial(
        ModelRequest("", _build_messages("Answer with the word fine."), max_output_tokens=TOKENS),
        _check_spoke,
    ),
    "tools": ModelTrial(
        ModelRequest(
            "",
            _build_messages("Report the number 7."),
            tools=(TOOL,),
            tool_choice=ToolChoice(mode="required"),
            max_output_tokens=TOKENS,
        ),
        _check_called,
    ),
    "images": ModelTrial(
        ModelRequest(
            "",
            _build_messages(
                "Which colour is this? One word.", Image(media_type="image/png", data=RED)
            ),
            max_output_tokens=TOKENS,
        ),
        _check_spoke,
    ),
    "schema": ModelTrial(
        ModelRequest(
            "",
            _build_messages('Answer in JSON with a colour, such as {"colour": "blue"}.'),
            output=SCHEMA,
            max_output_tokens=TOKENS,
        ),
        _check_form,
    ),
}
