"""The texts that an erased chat brought into the memory which it shared with other chats."""

from collections.abc import Callable, Iterator

import orjson
from pydantic import JsonValue

from orchestrator.journal.db.database import Cursor, Database
from orchestrator.journal.memory.memory_scope import EVERY
from orchestrator.journal.schedule import tasks
from orchestrator.journal.turns import shown_texts
from orchestrator.journal.turns.shown_texts import list_excerpts
from orchestrator.tools.builtin.task_tools import format_task_line

SEARCHES = ("search_conversations", "read_conversation")  # show messages of other chats
STORING = "'store_fact','update_fact','update_profile','store_skill','update_skill','schedule_task'"
# Each with the agent; what was stored for the chat alone was never shown elsewhere.
WHOLE = (
    "SELECT agent_id, fact FROM fact WHERE scope = '{every}' AND id IN gone_fact",
    "SELECT agent_id, description FROM playbook WHERE scope = '{every}' AND {learned}",
    "SELECT agent_id, instructions FROM playbook WHERE scope = '{every}' AND {learned}",
)
IN_JSON = (
    (
        "SELECT agent_id, after FROM profile_change WHERE scope = '{every}' AND {learned}"
        " AND after IS NOT NULL"
    ),
    "SELECT agent_id, spec FROM task WHERE id IN gone_task",
    (
        "SELECT agent_id, args FROM step JOIN turn ON turn.id = turn_id WHERE args IS NOT NULL"
        f" AND name IN({STORING}) AND turn_id IN gone_turn"
    ),
)
TASKS = "SELECT agent_id, id FROM task WHERE id IN gone_task"
SAID = (
    "SELECT agent_id, body FROM message JOIN session ON session.id = session_id"
    " WHERE session_id IN gone_session"
)


class LearnedTexts:
    """Texts by the agent that was told them; ``said`` are excerpts of the chat's messages."""

    def __init__(self) -> None:
        self.stored: dict[str, set[str]] = {}
        self.said: dict[str, set[str]] = {}

    def blank_elsewhere(self, db: Database) -> None:
        """Remove the texts from what the agents' other chats were shown."""
        for agent_id, texts in self.stored.items():
            shown_texts.blank_shown_texts(db, agent_id, texts)
        for agent_id, texts in self.said.items():
            for tool in SEARCHES:
                shown_texts.blank_shown_texts(db, agent_id, texts, tool)


def collect_learned_texts(
    db: Database, execute: Callable[[str], Cursor], learned: str
) -> LearnedTexts:
    """Return the texts; ``execute`` runs a query on the gathered ids, ``learned`` is a condition.

    Call it before the rows are removed.
    """
    found = LearnedTexts()
    for sql in WHOLE:
        for agent_id, text in execute(sql.format(every=EVERY, learned=learned)):
            found.stored.setdefault(str(agent_id), set()).add(str(text))
    for sql in IN_JSON:
        for agent_id, text in execute(sql.format(every=EVERY, learned=learned)):
            leaves = set(_list_texts(orjson.loads(str(text))))
            found.stored.setdefault(str(agent_id), set()).update(leaves)
    for agent_id, number in execute(TASKS).fetchall():  # whose names may be short
        line = format_task_line(tasks.load_task(db, int(str(number))))
        found.stored.setdefault(str(agent_id), set()).add(line)
    for agent_id, body in execute(SAID):
        message = orjson.loads(str(body))
        content = message.get("content")
        if message.get("role") != "tool" and isinstance(content, str):
            excerpts = [one for one in list_excerpts(content) if len(one) >= shown_texts.SHORT]
            found.said.setdefault(str(agent_id), set()).update(excerpts)
    return found


def _list_texts(value: JsonValue) -> Iterator[str]:
    """Yield the texts of a JSON value that are long enough to be told from names and words."""
    if isinstance(value, str):
        if len(value) >= shown_texts.SHORT:
            yield value
    elif isinstance(value, dict):
        for below in value.values():
            yield from _list_texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _list_texts(below)
