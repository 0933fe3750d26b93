"""What the people of the node self-test say."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from orchestrator.extensions.selftest.crash.ledger import Ledger, LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import (
    HANDOVER,
    Script,
    select_sent_scripts,
)
from orchestrator.extensions.selftest.nodes.chat_load import (
    GROUPS,
    GUARDED,
    HANDED,
    PEOPLE,
    ChatLoad,
    make_talks,
)


@pytest.mark.parametrize("messages", [1, 30, 2000])
def test_people_say_as_much_as_they_should(messages: int) -> None:
    """A talk is said to its end."""
    assert messages <= len(select_sent_scripts(make_talks(messages).scripts)) <= messages + 1


def test_all_that_agents_do_is_asked_for() -> None:
    """Tools, effects, tasks, subagents, approvals, handovers, stops, previews and long answers."""
    scripts = select_sent_scripts(make_talks(2000).scripts).values()
    tools = Counter(tool for script in scripts for step in script.steps for tool in step)
    assert {"schedule_task", "spawn_subagent", "send_message", "store_fact"} <= set(tools)
    assert HANDOVER in tools
    assert any(script.stopped for script in scripts)
    assert {script.style for script in scripts} == {"short", "long", "streamed"}
    assert {script.decision for script in scripts} == {"", "approve", "deny"}
    assert {script.chat for script in scripts} == {*PEOPLE, *HANDED, *GUARDED, *GROUPS}


def test_what_follows_is_said_during_the_answer_to_what_it_follows() -> None:
    """In the same chat; the first of a talk follows none."""
    made = make_talks(200)
    for chat, said in made.by_chat.items():
        for number, (first, *others) in enumerate(said):
            assert first.follows == f"talk {chat} {number}"
            before = first
            for script in others:
                assert (script.follows, script.chat) == (before.name, chat)
                before = script


async def test_waits_for_other_nodes_are_compared_with_those_for_the_same_work(
    tmp_path: Path,
) -> None:
    """Without those of the struck node, and of first talks, in which a worker may start."""
    load = ChatLoad(make_talks(2000), Ledger(tmp_path / "ledger.jsonl"))
    first, second, third = (
        next(talk[0] for talk in load.talks.by_chat[chat][1:] if talk[0].style == "long")
        for chat in PEOPLE[:3]
    )
    struck = load.talks.agents_by_chat[third.chat]
    load.note_fault(5000, 9000, frozenset({struck}))

    def answer(script: Script, asked: int, shown: int) -> Iterator[LedgerEvent]:
        yield LedgerEvent("said", script.name, 1, script.chat, asked)
        yield LedgerEvent("shown", script.marks[0], 2, script.chat, shown)

    opening = load.talks.by_chat[first.chat][0][0]
    told = ((opening, 0, 900), (first, 1000, 1500), (second, 4000, 5100), (third, 6000, 8000))
    waits = load.measure_waits(chain.from_iterable(answer(*one) for one in told))
    assert (waits.calm, waits.aside) == ([0.5], [1.1])
    assert waits.longer == pytest.approx([0.6])
