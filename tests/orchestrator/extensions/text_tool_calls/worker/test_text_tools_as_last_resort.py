"""The last resort: a call with the tools offered as text."""

import pytest
from fakes.scripted import ScriptedModel, call, says, spec

from thinker.models.base import ModelRequest
from thinker.models.failures import Account, ProviderError, build_failure
from thinker.models.retry import FallbackModel
from thinker.protocol.messages import (
    AssistantMessage,
    ToolChoice,
    ToolResult,
    UserMessage,
)
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import FatalModelError, ModelError, RetryableModelError

TOOL = spec("search", q="string")
REQUEST = ModelRequest(
    system="You help.",
    messages=(
        UserMessage(content="find tea"),
        AssistantMessage(content="Looking.", tool_calls=(call("c1", "search", q="tea"),)),
        ToolResult(call_id="c1", name="search", content="green tea"),
    ),
    tools=(TOOL,),
    tool_choice=ToolChoice(mode="required"),
)


def refused(status: int = 400, kind: str = "") -> ModelError:
    """Return the adapter's error for this answer of Groq."""
    account = Account(PROVIDERS["groq"], "m")
    return build_failure(account, status, ProviderError("no", (kind,) if kind else ()))


@pytest.mark.parametrize("error", [refused(), refused(400, "tool_use_failed"), refused(500)])
async def test_captured_steps_are_told_in_words(error: ModelError) -> None:
    """The tools are offered as text, and the operator can read why."""
    model = ScriptedModel(error, says("Drink green tea."))
    response = await FallbackModel([model]).complete(REQUEST)
    assert response.message.content == "Drink green tea."
    asked = model.requests[1]
    assert asked.tools == ()
    assert "search" in asked.system
    assert asked.system.endswith("You help.")
    assert not any(isinstance(m, AssistantMessage) and m.tool_calls for m in asked.messages)
    assert "green tea" in asked.messages[-1].content
    (lost,) = response.degraded
    assert (lost.kind, lost.what) == ("tools", "offered as text")


async def test_every_model_is_asked_with_tools_first() -> None:
    """Then the one whose failure tools may have caused."""
    first = ScriptedModel(refused(), says("words"))
    second = ScriptedModel(FatalModelError("groq refused the key"))
    response = await FallbackModel([first, second]).complete(REQUEST)
    assert response.message.content == "words"
    assert [len(model.requests) for model in (first, second)] == [2, 1]


@pytest.mark.parametrize(
    ("error", "request_"),
    [
        (refused(401), REQUEST),
        (refused(429), REQUEST),
        (RetryableModelError("groq is unreachable"), REQUEST),
        (refused(), ModelRequest(system="", messages=REQUEST.messages[:1])),
    ],
)
async def test_failure_that_tools_did_not_cause_is_final(
    error: ModelError, request_: ModelRequest
) -> None:
    """A call without tools would fail as well."""
    model = ScriptedModel(error)
    with pytest.raises(type(error)):
        await FallbackModel([model]).complete(request_)


async def test_second_failure_is_reported() -> None:
    """Nothing follows the last resort."""
    model = ScriptedModel(refused(), refused(503))
    with pytest.raises(RetryableModelError, match="503"):
        await FallbackModel([model]).complete(REQUEST)
