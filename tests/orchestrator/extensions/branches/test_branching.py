"""Conversations go on from an earlier point, and nothing of their source changes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.branched import HOME, BranchedWorld, branched_world
from fakes.journal import job, read_contents

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.branches import branching, left_behind
from orchestrator.extensions.branches.branching import ChildSession
from orchestrator.journal.turns import approvals, sessions, subagents
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.prompt_records import SentPrompt, record_prompt
from thinker.protocol.messages import LayerRecord
from thinker.protocol.prompt_record import PromptRecord


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BranchedWorld]:
    """A journal without a conversation."""
    with branched_world(tmp_path) as made:
        yield made


def read_texts(world: BranchedWorld, child: ChildSession | int) -> list[str]:
    """What an agent reads of the conversation so far."""
    number = child if isinstance(child, int) else child.session_id
    return [one.content for one in sessions.list_history(world.db, number, 50)]


def told(*texts: str) -> list[str]:
    """These messages and their answers."""
    return [line for text in texts for line in (text, f"answer to: {text}")]


def test_rewound_conversation_reads_what_came_before_its_point(world: BranchedWorld) -> None:
    """And what is said in it from then on; the rest is left."""
    world.have("one")
    point = world.have("two")
    world.have("three")
    child = world.rewind(point)
    assert read_texts(world, child) == told("one", "two")
    world.have("four")
    assert read_texts(world, child) == told("one", "two", "four")


def test_forked_conversation_and_its_source_go_on_apart(world: BranchedWorld) -> None:
    """Neither reads what is said in the other one from then on."""
    point = world.have("one")
    turn = world.begin("two")
    child = world.fork(point)
    world.end(turn, "answer to: two")
    world.have("three", at=child.address)
    assert read_texts(world, child) == told("one", "three")
    assert read_texts(world, turn.session_id) == told("one", "two")


def test_line_of_forks_reads_each_up_to_the_earliest_point(world: BranchedWorld) -> None:
    """A conversation that goes on from before its parent began reads nothing of that one."""
    world.have("one")
    early = world.have("two")
    late = world.have("three")
    middle = world.rewind(late) if world.have("four") else None
    own = world.have("five")
    assert middle is not None
    deep = world.fork(own, "deep")
    assert read_texts(world, deep) == told("one", "two", "three", "five")
    back = world.rewind(early)
    assert read_texts(world, back) == told("one", "two")


def test_line_is_read_at_most_eight_conversations_back(world: BranchedWorld) -> None:
    """Whatever a hundred rewinds have made."""
    world.have("first")
    for number in range(10):
        point = world.have(f"number {number}")
        world.have("left")
        child = world.rewind(point)
    assert read_texts(world, child) == told(*(f"number {n}" for n in range(2, 10)))


def test_window_is_of_the_whole_line(world: BranchedWorld) -> None:
    """The newest messages; it jumps as that of a conversation without a parent does."""
    for number in range(4):
        point = world.have(f"number {number}")
    world.have("left")
    child = world.rewind(point)
    world.have("own")
    window = sessions.load_history_window(world.db, child.session_id, 5)
    assert [one.content for one in window.messages] == [
        "answer to: number 2",
        *told("number 3", "own"),
    ]
    assert window.inherited == 3
    found = []
    for number in range(4):
        shown = sessions.list_history(world.db, child.session_id, 4, jump=4)
        found.append(shown[0].content)
        world.have(f"more {number}")
    assert found == ["number 2", "own", "own", "more 1"]


def test_summary_of_before_the_point_is_read_with_what_it_does_not_cover(
    world: BranchedWorld,
) -> None:
    """That of a later time covers messages that were left, and is not read."""
    world.have("one")
    point = world.have("two")
    world.have("three")
    old = int(world.db.execute("SELECT id FROM session").get)
    child = world.fork(point)
    set_summary = "UPDATE session SET summary = ?, summary_upto = ? WHERE id = ?"
    world.db.execute(set_summary, ("so far", 2, old))
    assert read_texts(world, child) == told("two")
    assert sessions.load_summary(world.db, child.session_id) == ("so far", "user")
    world.have("own", at=child.address)
    newest = int(world.db.execute("SELECT max(id) FROM message").get)
    world.db.execute(set_summary, ("then", newest, child.session_id))
    assert sessions.load_summary(world.db, child.session_id)[0] == "so far\n\nthen"
    assert read_texts(world, child) == told("two")
    world.db.execute(set_summary, ("all of it", 6, old))
    assert sessions.load_summary(world.db, child.session_id)[0] == "then"
    assert read_texts(world, child) == told("one", "two")


def test_summary_that_the_point_was_told_is_in_its_prompt(world: BranchedWorld) -> None:
    """It is read from there once the source has another one."""
    world.have("one")
    turn = world.begin("two")
    layer = LayerRecord(name="summary", text="## Previous Conversation Context\nso far,\nso good")
    sent = SentPrompt(turn.id, world.now, turn.session_id, turn.started_at)
    with job(world.db):
        record_prompt(world.db, sent, PromptRecord(layers=(layer,)))
    point = world.end(turn)
    world.have("three")
    child = world.fork(point)
    world.db.execute("UPDATE session SET summary = 'all', summary_upto = 6 WHERE parent_id IS NULL")
    assert sessions.load_summary(world.db, child.session_id)[0] == "so far,\nso good"


def test_tools_of_before_the_point_are_offered_at_first(world: BranchedWorld) -> None:
    """Until the conversation has used tools of its own."""
    turn = world.begin()
    world.answer_like(turn, "look_up", "found")
    point = world.end(turn)
    world.have("left")
    child = world.rewind(point)
    window = sessions.load_history_window(world.db, child.session_id, 50)
    assert window.inherited_tools == ("look_up",)


def test_conversation_that_moves_keeps_those_that_go_on_from_it(world: BranchedWorld) -> None:
    """As when a group becomes a supergroup."""
    point = world.have("one")
    child = world.fork(point)
    other = world.begin("two", Address("telegram", "1", "8"))
    world.end(other)
    with job(world.db):
        sessions.merge_sessions(world.db, child.point.session_id, other.session_id, world.now)
    assert read_texts(world, child) == told("one")


def test_source_of_a_fork_is_unchanged(world: BranchedWorld) -> None:
    """Each of its rows, whatever is said and done in the fork."""
    point = world.have("one", ("send_mail", {"to": "bob"}))
    world.have("two", ("pay_bill", {"n": 1}))
    before = read_contents(world.db)
    child = world.fork(point)
    world.have("three", ("pay_bill", {"n": 1}), at=child.address)
    after = read_contents(world.db)
    changed = {name for name, rows in before.items() if rows != after[name][: len(rows)]}
    assert changed == set()


def test_rewind_is_refused_while_a_turn_is_open(world: BranchedWorld) -> None:
    """A fork is not: its source is left alone."""
    point = world.have("one")
    turn = world.begin("two")
    with pytest.raises(OrchestratorError, match="wait for the answer or send /stop"):
        world.rewind(point)
    world.fork(point)
    world.end(turn)


def test_only_a_message_of_the_conversation_can_be_rewound_to(world: BranchedWorld) -> None:
    """Not one that a rewind has left, nor of an earlier conversation, nor the last one."""
    point = world.have("one")
    left = world.have("two")
    with pytest.raises(OrchestratorError, match="nothing has happened"):
        world.rewind(left)
    world.rewind(point)
    for _ in range(2):
        with pytest.raises(OrchestratorError, match="fork the conversation"):
            world.rewind(left)
        sessions.end_session(world.db, "work", HOME.chat_key, world.now)
        world.have("another conversation")
    assert read_texts(world, world.fork(left, "of-left")) == told("one", "two")


def test_point_needs_a_message(world: BranchedWorld) -> None:
    """A turn that was given up has left none."""
    turn = world.begin()
    with pytest.raises(UnknownNameError, match="left nothing"):
        branching.load_point(world.db, turn.id)
    world.end(turn)


def test_chat_of_a_fork_is_a_new_one(world: BranchedWorld) -> None:
    """Two forks never meet."""
    point = world.have("one")
    world.fork(point)
    with pytest.raises(OrchestratorError, match="exists already"):
        world.fork(point)


def test_rewind_withdraws_questions_and_a_fork_keeps_them(world: BranchedWorld) -> None:
    """Those that a subagent asks which was begun after the point; used ones stay used."""
    world.configured = ("pay_bill",)
    point = world.have("one")
    turn = world.begin("two")
    helper = world.delegate(turn, "pay", wait=False)
    used = world.call(helper, "pay_bill", n=1)
    world.decide(used)
    world.try_again(helper, used.call)
    asked = world.call(helper, "pay_bill", n=2)
    assert asked.question is not None
    world.end(turn)
    world.fork(point)
    assert [one.id for one in world.list_questions()] == [asked.question.id]
    child = world.rewind(point)
    assert world.list_questions() == []
    states = [one.state for one in approvals.list_approvals_of_turn(world.db, helper.id)]
    assert states == ["used", "denied"]
    assert subagents.list_living_subagents(world.db, "work", HOME.chat_key) == {}
    again = world.call(world.begin(), "pay_bill", n=2)
    assert again.question is not None
    assert child.session_id != turn.session_id


def test_first_words_say_what_stays(world: BranchedWorld) -> None:
    """Messages, calls, facts, fields, playbooks and tasks of the left part, and no others."""
    world.have("zero", ("pay_bill", {"n": 1}))
    point = world.have("one")
    left = world.have("two", ("send_mail", {"to": "bob"}), ("keep_note", {"n": 1}))
    now = world.now
    with job(world.db):
        for source, fact in ((f"turn {left}", "Bob is rich."), ("turn x", "Eve is poor.")):
            world.db.execute(
                "INSERT INTO fact(agent_id, fact, category, source, created_at, updated_at, scope)"
                " VALUES('work', ?, 'fact', ?, ?, ?, 'telegram:7')",
                (fact, source, now, now),
            )
        world.db.execute(
            "INSERT INTO fact(agent_id, fact, category, source, created_at, updated_at, scope)"
            " VALUES('work', 'Bob sings.', 'fact', ?, ?, ?, 'telegram:7')",
            (f"extraction {left}..{left}", now, now),
        )
        world.db.execute(
            "INSERT INTO profile_change(agent_id, path, source, at, scope)"
            " VALUES('work', 'persona.tone', ?, ?, 'telegram:7')",
            (f"turn {left}", now),
        )
        world.db.execute(
            "INSERT INTO task(agent_id, name, source, spec, state, created_at, scope)"
            " VALUES('work', 'water', 'tool', '{}', 'active', ?, 'telegram:7')",
            (now,),
        )
    child = world.rewind(point)
    found = left_behind.find_left_behind(world.db, child)
    assert left_behind.describe_rewind(child, found).splitlines() == [
        "I go on from “answer to: one”. 2 messages below it stay here, but I read them no more.",
        f"What was done since stays done: send_mail. {left_behind.NOT_AGAIN}",
        "I still know what I have learned since; /memory forget ID forgets it:",
        "1: Bob is rich.",
        "3: Bob sings.",
        "I keep what was changed since: persona.tone.",
        "These tasks stay; orchestrator tasks disable ID ends one:",
        "1: water",
        "Files are as they are now.",
    ]
    assert [number for number, _ in found.tasks] == [1]


def test_fork_tells_what_all_chats_have_learned_since(world: BranchedWorld) -> None:
    """What belongs to the source's chat alone is not seen there, and not told."""
    point = world.have("one")
    left = world.have("two")
    for scope, fact in (("", "All know it."), ("telegram:7", "One knows it.")):
        world.db.execute(
            "INSERT INTO fact(agent_id, fact, category, source, created_at, updated_at, scope)"
            " VALUES('work', ?, 'fact', ?, ?, ?, ?)",
            (fact, f"turn {left}", world.now, world.now, scope),
        )
    child = world.fork(point)
    found = left_behind.find_left_behind(world.db, child)
    assert left_behind.describe_fork(child, found, "telegram:7").splitlines() == [
        "This goes on from “answer to: one” in telegram:7, which stays as it is.",
        left_behind.MEMORY,
        "I still know what I have learned since; /memory forget ID forgets it:",
        "1: All know it.",
        "Files are as they are now.",
    ]
