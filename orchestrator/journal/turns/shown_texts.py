"""Remove forgotten texts from what other chats of an agent were shown of its memory.

Prompts, the layers that the cached layout repeats with each message, results of tools and summaries
have facts word by word. What a person or an agent has said in another chat stays as it was said.
"""

import html
import json
import re
from collections.abc import Callable, Collection, Iterable
from functools import partial

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_times import find_first_row_since
from orchestrator.journal.turns import prompt_records
from thinker.protocol.visible_text import remove_misleading

FORGOTTEN = "(forgotten)"
EXCERPT = 500  # characters of a message that a search of conversations shows
STEP = 250  # characters between the beginnings of two excerpts
MARGIN = 86_400_000  # milliseconds, by which clocks may have been set back
SHORT = 12  # characters; a shorter text is removed only where it is an entry of a list
OF_AGENT = "(agent_id = :agent OR agent_id LIKE :agent || '-sub-%')"  # with its subagents
OF_TURNS = (
    f"turn_id IN(SELECT id FROM turn WHERE {OF_AGENT} AND ifnull(ended_at, :since) >= :since)"
)
# The place of each text, the columns that name its row, and which rows are an agent's.
PLACES = (
    ("step", "result", ("turn_id", "seq"), f"kind = 'tool' AND :tool IN('', name) AND {OF_TURNS}"),
    ("turn_prompt", "body", ("turn_id", "at"), OF_TURNS),
    ("session", "summary", ("id",), f"{OF_AGENT} AND ifnull(ended_at, :since) >= :since"),
    ("outbox", "body", ("id",), "notice = 1 AND id >= :outbox"),  # such as lists of facts
    (
        "turn",
        "receipt",
        ("id",),
        f"receipt IS NOT NULL AND {OF_AGENT} AND ifnull(ended_at, :since) >= :since",
    ),
)
MESSAGES = (
    "SELECT id, body FROM message WHERE id >= :message AND session_id IN(SELECT id FROM session"
    f" WHERE {OF_AGENT}) AND (instr(body, :tool) > 0 OR :tool = '')"
)
KNOWN = """WITH RECURSIVE gone(id) AS (
    SELECT id FROM fact WHERE agent_id = :agent AND ended_by LIKE 'forgotten%'
    UNION SELECT fact.id FROM gone JOIN fact ON fact.ended_by = 'fact ' || gone.id)
  SELECT fact FROM fact WHERE agent_id = :agent AND id NOT IN(SELECT id FROM gone)"""
PARTS = (
    "SELECT digest, body FROM prompt_part WHERE digest IN(SELECT common FROM turn_prompt"
    f" WHERE {OF_TURNS})"
)
Blank = Callable[[str], str]


def blank_shown_texts(
    db: Database, agent_id: str, texts: Collection[str], tool: str = "", since: int = 0
) -> None:
    """Replace texts wherever an agent's chats were shown them; with ``tool`` in its results alone.

    What the agent still knows from elsewhere stays. Nothing can have shown them before ``since``
    (milliseconds); the whole of what was ever shown takes a second with 50,000 turns.
    """
    kept = {str(fact) for (fact,) in db.execute(KNOWN, {"agent": agent_id})}
    texts = set(texts) - kept
    written = sorted({form for text in texts for form in _list_forms(text)}, key=len, reverse=True)
    if not written:
        return
    found = re.compile("|".join(map(re.escape, written)))
    blank = partial(_blank_text, written, found)
    since = max(0, since - MARGIN)
    firsts = {
        table: find_first_row_since(db, table, since) if since else 0
        for table in ("message", "outbox")
    }
    named = {"agent": agent_id, "tool": tool, "since": since, **firsts}
    for table, column, keys, rows in PLACES if not tool else PLACES[:1]:
        selected = f"SELECT {column}, {', '.join(keys)} FROM {table} WHERE {rows}"
        places = " AND ".join(f"{key} = ?" for key in keys)
        changed = [
            (new, *key)
            for text, *key in db.execute(selected, named)
            if text is not None and (new := blank(str(text))) != text
        ]
        db.executemany(f"UPDATE {table} SET {column} = ? WHERE {places}", changed)
    messages = [
        (new, number)
        for number, body in db.execute(MESSAGES, named)
        if blank(str(body)) != body and (new := _blank_message(str(body), blank)) != body
    ]
    db.executemany("UPDATE message SET body = ? WHERE id = ?", messages)
    shared = [] if tool else db.execute(PARTS, named).fetchall()  # few, as prompts share them
    for digest, body in shared:
        if (new := blank(str(body))) != body:
            prompt_records.replace_part(db, str(digest), new)


def list_excerpts(message: str) -> list[str]:
    """Return the parts of a message of which searches show one; a short message has one part."""
    line = " ".join(message.split())
    starts = range(0, max(1, len(line) - EXCERPT + STEP), STEP)
    return [line[start : start + EXCERPT] for start in starts]


def _list_forms(text: str) -> Iterable[str]:
    """Yield how a text stands in the journal: as it is, in markup, and inside of JSON."""
    for line in {text, " ".join(text.split()), " ".join(remove_misleading(text).split())} - {""}:
        shown = line if len(line) >= SHORT else f"- {line} ("
        for form in (shown, html.escape(shown, quote=False)):
            once = json.dumps(form, ensure_ascii=False)[1:-1]
            yield from (form, once, json.dumps(once, ensure_ascii=False)[1:-1])


def _blank_text(written: Iterable[str], found: re.Pattern[str], text: str) -> str:
    if not any(form in text for form in written):  # much faster than the pattern
        return text
    return found.sub(lambda hit: f"- {FORGOTTEN} (" if _is_entry(hit[0]) else FORGOTTEN, text)


def _is_entry(form: str) -> bool:
    return form.startswith("- ") and form.endswith(" (")


def _blank_message(body: str, blank: Blank) -> str:
    """Return a message without forgotten texts in what was shown to the model beside its words."""
    message = orjson.loads(body)
    names = ("content",) if message.get("role") == "tool" else ("context",)
    parts = {
        n: orjson.loads(blank(orjson.dumps(message[n]).decode())) for n in names if n in message
    }
    return orjson.dumps({**message, **parts}).decode()
