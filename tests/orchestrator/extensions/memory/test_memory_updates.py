"""News that outdate a fact: prompts have the new one first, and the old one ended or dated."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

import pytest
from fakes.memory import WORK
from fakes.tool_call import NOON, run

from orchestrator.extensions.memory import fact_changes, memory_tools
from orchestrator.extensions.memory.fact_changes import Statement
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.prompt_memory import load_prompt_memory
from orchestrator.journal.turns import sessions
from orchestrator.tools.builtin.host_tool import ToolContext
from thinker.prompt import layers
from thinker.prompt.layers import LayerContext
from thinker.protocol.messages import UserMessage


class Update(NamedTuple):
    """A fact, the news, the question that both answer, and what both are the value of."""

    old: str
    new: str
    question: str
    slot: str


UPDATES = (
    Update("User lives in Lyon", "User moved to Graz", "Where do I live?", "home city"),
    Update(
        "User's phone is a Pixel 6", "User bought a Fairphone 5", "Which phone do I have?", "phone"
    ),
    Update("User works as a baker at Korn", "User is a teacher now", "What is my job?", "job"),
    Update("User is vegetarian", "User eats meat again", "What may I cook with meat?", "diet"),
    Update("User's partner is Kim", "User and Kim split up", "How is Kim?", "partner"),
    Update("User gets up at 7", "User gets up at 5 to swim", "When do I get up?", "getting up"),
    Update("User drives an old Saab", "User sold the car and cycles", "Do I drive?", "transport"),
    Update("User learns Spanish", "User gave up Spanish for Greek", "My Spanish?", "language"),
)
Way: TypeAlias = Callable[[Database, ToolContext, Update], None]


def replace_by_tool(db: Database, context: ToolContext, update: Update) -> None:
    """As the answer of the tool that stored the news asks for."""
    answer = run(memory_tools.store_fact, db, context, fact=update.new, slot=update.slot)
    assert f"- {update.old} (background, id 2, " in answer
    run(memory_tools.update_fact, db, context, id=2, fact=update.new)


def store_in_slot(db: Database, context: ToolContext, update: Update) -> None:
    run(memory_tools.store_fact, db, context, fact=update.new, slot=update.slot)


def store_beside(db: Database, context: ToolContext, update: Update) -> None:
    run(memory_tools.store_fact, db, context, fact=update.new)


def replace_by_extraction(db: Database, context: ToolContext, update: Update) -> None:
    news = Statement(update.new, "background", "extraction t1..t2")
    fact_changes.replace_fact(db, context.memory, 2, news, context.now)


@pytest.mark.parametrize("asked", ["outside", "at once", "after an older card", "next sitting"])
@pytest.mark.parametrize(
    "way", [replace_by_tool, store_in_slot, store_beside, replace_by_extraction]
)
@pytest.mark.parametrize("update", UPDATES, ids=[update.slot for update in UPDATES])
def test_new_fact_is_first_and_the_old_one_ended_or_dated(
    db: Database, context: ToolContext, update: Update, way: Way, asked: str
) -> None:
    """However the news are stored, and whether or not both have words of the question."""
    run(memory_tools.store_fact, db, context, fact="User likes jazz")
    slot = {} if way is store_beside else {"slot": update.slot}
    run(memory_tools.store_fact, db, context, fact=update.old, **slot)
    session = None if asked == "outside" else sessions.open_session(db, "work", "new", NOON)
    if session is not None and asked == "after an older card":
        load_prompt_memory(db, WORK, "", ("*",), NOON, session_id=session)
    if session is not None and asked != "next sitting":
        sessions.append_messages(db, session, "t1", [UserMessage(content="hi")], NOON)
    way(db, replace(context, now=NOON + 1), update)
    lines = list_lines(db, update.question, session)
    places = {line.split(" (")[0][2:]: number for number, line in enumerate(lines)}
    assert places[update.new] < places.get(update.old, len(lines))
    if update.old in places:
        assert lines[places[update.old]].endswith("known since February 2026)")


def list_lines(db: Database, question: str, session: int | None) -> list[str]:
    """The lines of facts in the prompt, first those that fit the question, then the card's."""
    known = load_prompt_memory(db, WORK, question, ("*",), NOON + 2, session_id=session)
    now = datetime.fromtimestamp(NOON / 1000, UTC)
    shown = LayerContext(base="", now=now, chat_id="7", memories=known.memories)
    return "\n".join(filter(None, (layers.memories(shown), layers.card(shown)))).splitlines()
