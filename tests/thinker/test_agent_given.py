"""Recorded prompts that are sent again, whole or with single layers made anew."""

from pathlib import Path

import pytest
from fakes.scripted import NOON, MemoryHost, ScriptedModel, call, calls, says, spec, turn_run

from thinker.agent import Agent
from thinker.models.base import ModelRequest
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.methods import EVERY, Memory, TurnRun
from thinker.protocol.prompt_record import PromptRecord

ADD, LOOK = spec("add", a="number"), spec("look", q="string")


def settings(folder: Path, base: str, layout: str = "system") -> ThinkerSettings:
    """An agent whose base prompt is ``base``."""
    path = folder / f"{len(list(folder.iterdir()))}.txt"
    path.write_text(base, "utf-8")
    fields = {"system_prompt_path": path, "prompt_layout": layout, "temperature": 0.2}
    return ThinkerSettings.model_validate(fields)


async def sent(own: ThinkerSettings, turn: TurnRun) -> tuple[ModelRequest, PromptRecord]:
    """The turn's first request and the record of its prompt."""
    model, host = ScriptedModel(says("Done.")), MemoryHost()
    await Agent(own, model).run_turn(turn, host)
    record = host.commits[0].step.prompt
    assert record is not None
    return model.requests[0], record


@pytest.mark.parametrize("layout", ["system", "cached"])
async def test_given_prompt_is_sent_as_it_was(tmp_path: Path, layout: str) -> None:
    """Whatever the agent, its memory and the time have become."""
    before = settings(tmp_path, "Be brief.", layout)
    now = settings(tmp_path, "Be long.", layout)
    turn = turn_run("add 1", ADD, LOOK, memories=(Memory(fact="likes tea", category="c"),))
    request, record = await sent(before, turn)
    later = {"memories": (), "summary": "Much was said.", "started_at": NOON + 86_400}
    again, _ = await sent(now, turn.model_copy(update={**later, "given": record}))
    assert again == request


async def test_only_renewed_layers_are_made_anew(tmp_path: Path) -> None:
    """Also layers and tools that the record has not; with all of them it counts no more."""
    before, now = settings(tmp_path, "Be brief."), settings(tmp_path, "Be long.")
    turn = turn_run("add 1", ADD)
    _, record = await sent(before, turn)
    later = {"summary": "Much was said.", "tools": (ADD, LOOK), "given": record}

    async def renew(*names: str) -> ModelRequest:
        changed = turn.model_copy(update={**later, "renewed": names})
        return (await sent(now, changed))[0]

    based = await renew("base")
    assert "Be long." in based.system
    assert "Much was said." not in based.system
    assert [tool.name for tool in based.tools] == ["add"]
    summed = await renew("summary", "tools")
    assert summed.system.index("Be brief.") < summed.system.index("Much was said.")
    assert [tool.name for tool in summed.tools] == ["add", "look"]
    every = await renew(EVERY)
    assert every == (await sent(now, turn.model_copy(update={**later, "given": None})))[0]


async def test_request_after_recorded_steps_is_rehearsed(tmp_path: Path) -> None:
    """The calls of those steps are in it, and none of them runs or is shown again."""
    own, turn = settings(tmp_path, "Add."), turn_run("add 1", ADD, stream=True)
    first = calls(call("c", "add", a=1), text="I shall add.")
    model, host = ScriptedModel(first, says("2")), MemoryHost()
    await Agent(own, model).run_turn(turn, host)
    again = ScriptedModel()
    for known in range(3):
        resumed = turn.model_copy(update={"steps": host.recorded()[:known]})
        assert (await Agent(own, again).preview_prompt(resumed)).request == ""
    assert [one.messages for one in again.rehearsed] == [one.messages for one in model.requests]
