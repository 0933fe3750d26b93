"""Say what a rewind or a fork leaves behind, and what of it can still be taken back."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.chat_texts import format_on_one_line
from orchestrator.extensions.branches import line_calls
from orchestrator.extensions.branches.branching import ChildSession
from orchestrator.journal.db.database import Database

MAX_LISTED = 5  # facts, tasks or names that a text lists
MAX_FACT = 80  # characters
FILES = "Files are as they are now."
MEMORY = "Here I do not know what I have stored for that chat alone."
NOT_AGAIN = "I do not repeat it, and ask before I do something like it."
# What the new conversation sees: of its own chat, and of all chats. Of the times since a turn.
SEEN = "agent_id = ?1 AND scope IN('', ?2)"
LEARNED = (
    f"SELECT id, fact, source FROM fact WHERE {SEEN} AND created_at >= ?3 AND valid_to IS NULL"
    " ORDER BY id"
)
FIELDS = f"SELECT DISTINCT path, source FROM profile_change WHERE {SEEN} AND at >= ?3"
PLAYBOOKS = f"SELECT name, source FROM playbook WHERE {SEEN} AND created_at >= ?3"
TASKS = (
    f"SELECT id, name FROM task WHERE {SEEN} AND created_at >= ?3 AND source = 'tool'"
    " AND state IN('active','disabled') ORDER BY id"
)
# Messages of people and of the agent in the chat of a turn.
MESSAGES = """SELECT (SELECT count(*) FROM inbox WHERE turn_id = ?1 AND kind = 'message')
+ (SELECT count(*) FROM outbox WHERE turn_id = ?1 AND final = 1 AND aside = 0)"""


class LeftBehind(NamedTuple):
    """What the turns after a point have led to."""

    messages: int
    calls: tuple[str, ...]  # the tools of calls with effects outside the journal
    facts: tuple[tuple[int, str], ...]
    fields: tuple[str, ...]
    playbooks: tuple[str, ...]
    tasks: tuple[tuple[int, str], ...]


def find_left_behind(db: Database, child: ChildSession) -> LeftBehind:
    """Return what the turns after the point of a session have led to."""
    left = line_calls.list_tail_turns(db, child.session_id)
    own = set(left)
    since = min(
        (int(db.execute("SELECT started_at FROM turn WHERE id = ?", (one,)).get) for one in left),
        default=0,
    )
    known = child.agent_id, child.scope, since
    learned = list(db.execute(LEARNED, known))
    return LeftBehind(
        messages=sum(int(db.execute(MESSAGES, (turn_id,)).get) for turn_id in left),
        calls=tuple(one.name for one in line_calls.list_outside_calls(db, child.session_id)),
        facts=tuple(
            (int(number), str(fact)) for number, fact, source in learned if _is_of(source, own)
        ),
        fields=tuple(
            str(path) for path, source in db.execute(FIELDS, known) if _is_of(source, own)
        ),
        playbooks=tuple(
            str(name) for name, source in db.execute(PLAYBOOKS, known) if _is_of(source, own)
        ),
        tasks=tuple((int(number), str(name)) for number, name in db.execute(TASKS, known))
        if left
        else (),
    )


def describe_rewind(child: ChildSession, left: LeftBehind) -> str:
    """Return the first words of a rewound conversation."""
    stays = f"{_count(left.messages, 'message')} below it stay here, but I read them no more."
    begin = f"I go on from “{child.point.said}”. {stays}"
    return "\n".join([begin, *_iter_done(left), *_iter_kept(left), FILES])


def describe_fork(child: ChildSession, left: LeftBehind, source: str) -> str:
    """Return the first words of a forked conversation; ``source`` is the name of its chat."""
    begin = f"This goes on from “{child.point.said}” in {source}, which stays as it is."
    return "\n".join([begin, *_iter_done(left), MEMORY, *_iter_kept(left), FILES])


def _iter_kept(left: LeftBehind) -> Iterator[str]:
    if left.facts:
        yield "I still know what I have learned since; /memory forget ID forgets it:"
        yield from (f"{number}: {_shorten(fact)}" for number, fact in left.facts[:MAX_LISTED])
        yield from _count_rest(left.facts)
    names = [*left.fields, *(f"the playbook {name}" for name in left.playbooks)]
    if names:
        yield f"I keep what was changed since: {_join(names)}."
    if left.tasks:
        yield "These tasks stay; orchestrator tasks disable ID ends one:"
        yield from (f"{number}: {_shorten(name)}" for number, name in left.tasks[:MAX_LISTED])
        yield from _count_rest(left.tasks)


def _iter_done(left: LeftBehind) -> Iterator[str]:
    if left.calls:
        tools = [f"{name} ({n})" if n > 1 else name for name, n in Counter(left.calls).items()]
        yield f"What was done since stays done: {_join(tools)}. {NOT_AGAIN}"


def _is_of(source: object, turns: set[str]) -> bool:
    """Return whether a source is one of the turns: ``turn X``, or ``extraction X..Y``."""
    kind, _, names = str(source).partition(" ")
    return kind in ("turn", "extraction") and not turns.isdisjoint(names.split(".."))


def _join(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_LISTED])
    rest = len(names) - MAX_LISTED
    return f"{shown} and {rest} more" if rest > 0 else shown


def _count_rest(items: Sequence[object]) -> list[str]:
    rest = len(items) - MAX_LISTED
    return [f"… and {rest} more"] if rest > 0 else []


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _shorten(text: str) -> str:
    shown = format_on_one_line(text)[1:-1]
    return shown if len(shown) <= MAX_FACT else f"{shown[: MAX_FACT - 1]}…"
