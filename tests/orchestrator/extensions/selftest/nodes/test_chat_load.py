"""What the people of the node self-test say."""

from collections import Counter

import pytest

from orchestrator.extensions.selftest.crash.scenario import HANDOVER, select_sent_scripts
from orchestrator.extensions.selftest.nodes.chat_load import (
    GROUPS,
    GUARDED,
    HANDED,
    PEOPLE,
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
