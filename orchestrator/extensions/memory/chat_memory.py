"""``/memory`` in a chat: what the agent knows there, found, forgotten and brought back.

People see what is stored for their own chat. What all chats of an agent share is for those who may
operate, in a private chat: in a group others read.

Where: is /memory answered?
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from orchestrator import turn_access
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.memory import fact_changes, fact_reads, learned_changes, memories
from orchestrator.extensions.memory.fact_lines import format_fact_line
from orchestrator.inbound import commands
from orchestrator.inbound.commands import ChatCommand
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import Fact
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.timezones import load_zone_or_utc

ABOUT = "what I know here; WORDS: search it; PAGE; forget ID; undo ID"
FOUND = 10  # facts that a search shows
NOTES = 3  # the newest notes, on the first page
MAX_LISTED = 1000  # facts, newest first
MAX_DIGITS = 4000  # of a number, which Python reads quickly
PAGE = 1_400  # characters of facts, and of notes, on a page; a longer fact has its own page
USAGE = "/memory WORDS searches, /memory forget ID forgets, /memory undo ID takes a change back."
EMPTY = "I remember no facts here."
SHARED = "What all of my chats share is shown to my operator, in a private chat."
NO_AGENT = "No agent answers this chat."
WHICH = "Which fact? Write its number: /memory {act} 12. /memory lists them."
UNKNOWN = "there is no fact {id}; /memory lists them"
CORRECT = "Tell me what is true instead, and I remember that. /memory forget ID forgets a fact."
NOTHING_FOUND = "I remember nothing with these words here. /memory lists what I know."
FORGOTTEN = "Fact {id} is forgotten. Within a day, /memory undo {id} brings it back."
UNDONE = "The change is undone. I know this again:\n{line}"
WITHDRAWN = "Fact {id} is forgotten. /memory undo {id} brings it back."
NO_CHANGE = "Nothing has changed here within a day."


class _View(NamedTuple):
    """What a command may see and change of the memory, and the agent's time zone."""

    scope: MemoryScope
    timezone: str
    now: int
    hides: bool  # the chat's agent knows more than is shown here


def answer_memory(db: Database, command: ChatCommand) -> str:
    """Return the answer to ``/memory`` with its argument."""
    agent_id = commands.find_agent_here(db, command)
    if agent_id is None:
        return NO_AGENT
    view = _find_view(db, command, agent_id)
    act, *rest = command.argument.lower().split() or ["1"]
    page = _read_number(act)
    if page is not None and not rest:
        return _list_facts(db, view, page)
    if act in ACTS:
        try:
            return _change_fact(db, view, act, rest)
        except OrchestratorError as error:
            return str(error)
    if act == "edit" and rest and _read_number(rest[0]) is not None:
        return CORRECT
    return _search_facts(db, view, command.argument)


def _read_number(word: str) -> int | None:
    """Return a number of at most `MAX_DIGITS` digits; None for another word."""
    return int(word) if word.isdecimal() and len(word) <= MAX_DIGITS else None


def _change_fact(db: Database, view: _View, act: str, words: Sequence[str]) -> str:
    """Forget a fact or undo a change: of the one fact that is named, or the last change."""
    if act == "undo" and not words:
        number = memories.find_last_change(db, view.scope, view.now)
        return NO_CHANGE if number is None else _undo_change(db, view, number)
    number = _read_number(words[0].removeprefix("#")) if len(words) == 1 else None
    if number and number > facts.FOREVER:
        return UNKNOWN.format(id=number)
    return ACTS[act](db, view, number) if number else WHICH.format(act=act)


def _find_view(db: Database, command: ChatCommand, agent_id: str) -> _View:
    message, agents = command.message, command.rules.agents
    chat = f"{message.channel}:{message.chat_id}"
    scope = turn_access.build_memory_scope(agents, db, agent_id, chat)
    hides = scope.all_chats and not (command.role == "operate" and message.private)
    if hides:
        scope = MemoryScope(agent_id, chat, joined=False, shared=False)
    agent = agents.find_agent(agent_id)
    zone = load_zone_or_utc(agent.timezone if agent else None, command.rules.environ)
    return _View(scope, zone.key, command.rules.clock(), hides)


def _list_facts(db: Database, view: _View, number: int) -> str:
    newest = partial(fact_reads.list_newest_facts, db, view.scope)
    said = newest(None, facts.FOREVER, MAX_LISTED, view.now)
    notes = newest(facts.NOTE, facts.FOREVER, NOTES, view.now)
    shown = _format_facts(db, view, said)
    pages = list(_split_pages(shown)) or [[EMPTY]]
    if not 1 <= number <= len(pages):
        return f"There is no page {number}; the last one is /memory {len(pages)}."
    lines = pages[number - 1]
    if said:
        lines = [f"What I know here, page {number} of {len(pages)}:", *lines]
    if notes and number == 1 and sum(map(len, pages[0])) <= PAGE:
        lines += _fit_notes(_format_facts(db, view, notes))
    if view.hides:
        lines.append(SHARED)
    if number < len(pages):
        lines.append(f"/memory {number + 1} shows more.")
    return "\n".join([*lines, USAGE] if said or notes else lines)


def _format_facts(db: Database, view: _View, shown: Iterable[Fact]) -> list[str]:
    found = [*shown]
    older = learned_changes.find_older_facts(db, view.scope, found)
    return [format_fact_line(fact, view.timezone, older.get(fact.id)) for fact in found]


def _split_pages(lines: Sequence[str]) -> Iterator[list[str]]:
    page: list[str] = []
    for line in lines:
        if page and sum(map(len, page)) + len(line) > PAGE:
            yield page
            page = []
        page.append(line)
    if page:
        yield page


def _fit_notes(lines: Sequence[str]) -> list[str]:
    """Return the notes that a page has room for, under their heading."""
    found = next(_split_pages(lines), [])
    fits = sum(map(len, found)) <= PAGE
    return ["What we talked about:", *found] if fits else []


def _search_facts(db: Database, view: _View, words: str) -> str:
    found = fact_reads.find_facts(db, view.scope, words, FOUND, view.now)
    lines = _format_facts(db, view, found)
    return "\n".join(next(_split_pages(lines), [NOTHING_FOUND]))


def _forget_fact(db: Database, view: _View, number: int) -> str:
    fact_changes.forget_fact(db, view.scope, number, "user", view.now, for_good=False)
    return FORGOTTEN.format(id=number)


def _undo_change(db: Database, view: _View, number: int) -> str:
    before = facts.find_fact(db, view.scope, number)
    found = fact_changes.undo_change(db, view.scope, number, view.now)
    if before is not None and before.ended_by is None and found.id == number:
        return WITHDRAWN.format(id=number)  # it is forgotten, as nothing was known before it
    return UNDONE.format(line=format_fact_line(found, view.timezone))


ACTS = {"forget": _forget_fact, "undo": _undo_change}
