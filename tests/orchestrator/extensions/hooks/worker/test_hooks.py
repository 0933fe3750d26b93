"""An operator's hooks at the points of a turn."""

from pathlib import Path
from typing import Any

import pytest
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec, turn_run
from structlog.testing import capture_logs

from orchestrator.extensions.hooks.worker import hooks as module
from orchestrator.extensions.hooks.worker.hooks import HookFiles
from thinker.agent import Agent
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import SideEffect, UserMessage
from thinker.protocol.methods import StepCommit, StepCommitted, StopReason, TurnResult

LOOK = spec("look", SideEffect.PURE, q="string")
PAST = tuple(UserMessage(content=f"old {number}") for number in range(3))


def write(folder: Path, **hooks: str) -> ThinkerSettings:
    """Write hook files; return the settings of an agent that runs them in this order."""
    for name, text in hooks.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return ThinkerSettings(hooks_dir=folder, hooks=tuple(hooks))


async def ran(
    settings: ThinkerSettings, *script: Any, **fields: Any
) -> tuple[TurnResult, ScriptedModel, MemoryHost]:
    """Run a turn with these hooks."""
    model, host = ScriptedModel(*(script or (says("hi"),))), MemoryHost()
    turn = turn_run("hello", LOOK, **{"history": PAST, **fields})
    return await Agent(settings, model).run_turn(turn, host), model, host


async def test_prompt_and_conversation_are_what_hooks_make_of_them(tmp_path: Path) -> None:
    """In the listed order, async or not; the record shows the text that was sent."""
    settings = write(
        tmp_path,
        shout="def after_system_message(state, text):\n    return text.upper()",
        sign="async def after_system_message(state, text):\n    return f'{text} {state.agent_id}'",
        last="def filter_messages(state, messages):\n    return messages[-2:]",
    )
    _, model, host = await ran(settings)
    (request,) = model.requests
    assert request.system.endswith("CHAT_ID: 123456789 thinker")
    assert [message.content for message in request.messages] == ["old 2", "hello"]
    record = host.commits[0].step.prompt
    assert record is not None
    assert [(layer.name, layer.text) for layer in record.layers] == [
        ("after_system_message", request.system)
    ]


async def test_results_are_changed_for_the_model_and_again_when_the_turn_goes_on(
    tmp_path: Path,
) -> None:
    """The journal keeps the originals; a hook receives the call with its arguments."""
    text = """
def after_tool_call_success(state, call, result):
    return result.model_copy(update={"content": "redacted"})
def tool_call_started(state, call):
    print("began", call.name, call.arguments)
def tool_call_done(state, call, result):
    print("done", result.content)
"""
    settings = write(tmp_path, redact=text)
    script = calls(call("1", "look", q="x")), says("done")
    _, model, host = await ran(settings, *script)
    assert model.requests[1].messages[-1].content == "redacted"
    assert [result.content for result in host.results.values()] == ["look"]
    _, again, _ = await ran(settings, says("done"), steps=host.recorded()[:1])
    assert again.requests[0].messages[-1].content == "redacted"


async def test_results_that_come_with_their_step_are_changed_too(tmp_path: Path) -> None:
    """Tools that only need the journal have run by then."""

    class Prompt(MemoryHost):
        async def commit_step(self, commit: StepCommit) -> StepCommitted:
            committed = await super().commit_step(commit)
            results = {seq: await self.call_tool(seq) for seq in committed.call_seqs}
            return committed.model_copy(update={"results": results})

    text = """
def tool_call_started(state, call):
    global began
    began = call.name
def after_tool_call_success(state, call, result):
    return result.model_copy(update={"content": f"redacted {began}"})
"""
    model = ScriptedModel(calls(call("1", "look", q="x")), says("done"))
    await Agent(write(tmp_path, redact=text), model).run_turn(turn_run("hello", LOOK), Prompt())
    assert model.requests[1].messages[-1].content == "redacted look"


async def test_conversation_and_its_messages_are_announced_once(tmp_path: Path) -> None:
    """User messages and model answers; a resumed turn does not announce its past again."""
    text = f"""
def said(line):
    with open({str(tmp_path / "told")!r}, "a") as file:
        file.write(line + "\\n")
def after_thread_created(state):
    said(f"thread {{state.chat.chat_id}}")
def after_subagent_created(state):
    said("subagent")
def after_create_message(state, message):
    said(f"{{message.role}} {{message.content}}")
"""
    settings = write(tmp_path, tells=text)
    _, _, host = await ran(settings, calls(call("1", "look", q="x"), text="Hm."), says("hi"))
    await ran(settings, says("hi"), steps=host.recorded()[:1])
    await ran(settings, history=())
    await ran(settings, history=(), recipe="subagent")
    assert (tmp_path / "told").read_text("utf-8").splitlines() == [
        *("user hello", "assistant Hm.", "assistant hi"),
        "assistant hi",
        *("thread 123456789", "user hello", "assistant hi"),
        *("subagent", "user hello", "assistant hi"),
    ]


async def test_answer_is_what_hooks_make_of_it_before_anybody_sees_it(tmp_path: Path) -> None:
    """In the chat and in the journal; nothing is streamed."""
    text = """
def before_create_message(state, message):
    return message.model_copy(update={"content": message.content.replace("4111", "****")})
"""
    result, model, host = await ran(write(tmp_path, redact=text), says("It is 4111."), stream=True)
    assert result.text == "It is ****."
    assert host.commits[0].step.response.content == "It is ****."
    assert model.requests[0].on_text is None


async def test_failed_hook_is_logged_and_the_last_good_value_kept(tmp_path: Path) -> None:
    """Also a hook that returns nonsense, is not Python, or does not exist."""
    settings = write(
        tmp_path,
        fails="def prefilter_llm_history(state, messages):\n    raise ValueError('no')",
        nonsense="def prefilter_llm_history(state, messages):\n    return 3",
        broken="def",
        silent="def prefilter_llm_history(state, messages):\n    return None",
        last="def prefilter_llm_history(state, messages):\n    return messages[-1:]",
    )
    settings = settings.model_copy(update={"hooks": (*settings.hooks, "gone")})
    with capture_logs() as logged:
        result, model, _ = await ran(settings)
    assert result.text == "hi"
    assert [message.content for message in model.requests[0].messages] == ["hello"]
    assert [(line["event"], line["hook"]) for line in logged if "hook" in line] == [
        ("hook_not_loaded", "broken"),
        ("hook_not_loaded", "gone"),
        ("hook_failed", "fails"),
        ("hook_failed", "nonsense"),
    ]


async def test_hook_may_stop_a_step(tmp_path: Path) -> None:
    """The model is not called, and the error names the hook."""
    text = """
class Stop(Exception):
    block = True
def prefilter_llm_history(state, messages):
    raise Stop("too long")
"""
    result, model, _ = await ran(write(tmp_path, gate=text))
    assert (result.stop_reason, model.requests) == (StopReason.MODEL_ERROR, [])
    assert result.error == "the hook 'gate' stopped the step: too long"


async def test_hook_that_hangs_costs_its_time_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn goes on without it."""
    monkeypatch.setattr(module, "HOOK_SECONDS", 0.01)
    waits = "await anyio.sleep_forever()"
    text = f"import anyio\nasync def filter_messages(state, messages):\n    {waits}"
    with capture_logs() as logged:
        result, _, _ = await ran(write(tmp_path, slow=text))
    assert result.text == "hi"
    assert [line["hook"] for line in logged if line["event"] == "hook_failed"] == ["slow"]


async def test_hooks_of_a_definition_take_the_place_of_the_agents(tmp_path: Path) -> None:
    """An empty list disables hooks; without permission none run."""
    settings = write(tmp_path, shout="def after_system_message(state, text):\n    return 'X'")
    for hooks, text in ((None, "X"), ([], "Be kind."), (["shout"], "X")):
        definition: dict[str, Any] = {
            "name": "p",
            "toolDescription": "d",
            "model": "inherit",
            "prompt": "Be kind.",
        }
        if hooks is not None:
            definition["hooks"] = hooks
        bundle = {"name": "p", "definitions": {"p": definition}}
        _, model, _ = await ran(settings, prompt=bundle)
        assert model.requests[0].system.startswith(text)
    off = settings.model_copy(update={"hooks_dir": None})
    _, model, _ = await ran(off)
    assert not model.requests[0].system.startswith("X")


def test_edited_hook_is_live(tmp_path: Path) -> None:
    """At the next turn, without a restart; a broken one is tried again when it changes."""
    files = HookFiles(tmp_path)
    path = tmp_path / "a.py"
    with capture_logs():
        assert files.load_hook("a") == {}
    path.write_text("WORD = 'one'", "utf-8")
    assert files.load_hook("a")["WORD"] == "one"
    path.write_text("WORD = 'three'", "utf-8")
    assert files.load_hook("a")["WORD"] == "three"
