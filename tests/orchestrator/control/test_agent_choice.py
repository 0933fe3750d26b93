"""Of many agents a few are told, those that need attention first."""

from pathlib import Path

from fakes.agent_process import real_spec

from orchestrator.control.agent_choice import choose_slots
from orchestrator.processes.restarts import History, WorkerState
from orchestrator.processes.supervisor import Slot

STATES = {
    "idle": WorkerState.STOPPED,
    "busy": WorkerState.RUNNING,
    "paused": WorkerState.STOPPED,
    "broken": WorkerState.FATAL,
}


def make_slots(home: Path) -> list[Slot]:
    spec = real_spec
    return [Slot(spec(home, name), 60.0, History(state=state)) for name, state in STATES.items()]


def names(slots: list[Slot]) -> list[str]:
    return [slot.spec.agent_id for slot in slots]


def test_agents_that_need_attention_come_first(tmp_path: Path) -> None:
    """Then those at work; without the need to leave some out, they keep their order."""
    slots = make_slots(tmp_path)
    assert names(choose_slots(slots, 4, {"paused"})) == [*STATES]
    assert names(choose_slots(slots, 3, {"paused"})) == ["paused", "broken", "busy"]
    assert names(choose_slots(slots, 0, ())) == []


def test_troubles_are_those_that_need_attention_alone(tmp_path: Path) -> None:
    """At most so many."""
    slots = make_slots(tmp_path)
    chosen = choose_slots(slots, 9, {"paused"}, only_troubled=True)
    assert names(chosen) == ["paused", "broken"]
    assert names(choose_slots(slots, 1, {"paused"}, only_troubled=True)) == ["paused"]
