"""Compare the prompts of two turns: what was sent, what changed, and the cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from orchestrator.extensions.page.reads.turn_timeline import ModelCost
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.inspect import trace
from orchestrator.journal.inspect.trace import RecordedPrompt, Trace
from orchestrator.journal.turns import prompt_records
from thinker.protocol.messages import ToolSpec

MAX_TURNS = 12  # of the chat that are compared
MAX_MESSAGES = 200  # of the history that are listed, the newest
EXCERPT = 200  # characters of a message
NO_TOOLS: Mapping[str, ToolSpec] = MappingProxyType({})


@dataclass(frozen=True)
class HistoryMessage:
    """A message of the history; ``characters`` counts the stored message, with its calls."""

    id: int
    role: str
    text: str
    characters: int


class SentHistory(NamedTuple):
    """The history in a prompt: its size, and its newest messages, oldest first."""

    messages: Sequence[HistoryMessage] = ()
    total: int = 0
    characters: int = 0


NO_HISTORY = SentHistory()


class PromptComparison(NamedTuple):
    """A prompt, the one to compare it with, and the usage of its turn's calls.

    ``unknown`` is the requested other turn, if that does not exist. Tools are those with stored
    definitions, keyed by name. ``newer`` is the next turn of the chat.
    """

    prompt: RecordedPrompt
    other: RecordedPrompt | None
    used: ModelCost | None
    turns: list[RecordedPrompt]  # the newest of the chat, oldest first
    unknown: str = ""
    tools: Mapping[str, ToolSpec] = NO_TOOLS
    other_tools: Mapping[str, ToolSpec] = NO_TOOLS
    history: SentHistory = NO_HISTORY
    agent_id: str = ""
    newer: str | None = None


SENT = Rows(
    HistoryMessage,
    "message",
    "id, CASE WHEN json_valid(body) THEN body ->> 'role' ELSE '' END,"
    f" substr(CASE WHEN json_valid(body) THEN body ->> 'content' ELSE body END, 1, {EXCERPT}),"
    " length(body)",
)


def find_prompt_comparison(
    db: Database, turn_id: str, other: str | None = None
) -> PromptComparison | None:
    """Return a turn's first prompt, with the prompt of ``other`` or of the turn before.

    Returns None if the turn has no prompt.
    """
    own = _find_first_prompt(db, turn_id)
    if own is None:
        return None
    around = [
        str(turn)
        for (turn,) in db.execute(
            "SELECT id FROM turn WHERE session_id = (SELECT session_id FROM turn WHERE id = ?1)"
            " AND started_at <= (SELECT started_at FROM turn WHERE id = ?1)"
            " ORDER BY started_at DESC, rowid DESC LIMIT ?2",
            (turn_id, MAX_TURNS),
        )
    ]
    prompts = [
        found for turn in reversed(around) if (found := _find_first_prompt(db, turn)) is not None
    ]
    before = next((one for one in reversed(prompts) if one.turn_id != turn_id), None)
    named = None if other is None else _find_named_prompt(db, other)
    return PromptComparison(
        own,
        beside := named or before,
        _find_model_cost(db, turn_id),
        prompts,
        unknown=other if other is not None and named is None else "",
        tools=_load_offered_tools(db, own),
        other_tools=NO_TOOLS if beside is None else _load_offered_tools(db, beside),
        history=_load_sent_history(db, own),
        agent_id=str(db.execute("SELECT agent_id FROM turn WHERE id = ?", (turn_id,)).get or ""),
        newer=_find_newer_turn(db, turn_id),
    )


def _find_newer_turn(db: Database, turn_id: str) -> str | None:
    found = db.execute(
        "SELECT newer.id FROM turn JOIN turn AS newer ON newer.session_id = turn.session_id"
        " AND newer.started_at > turn.started_at WHERE turn.id = ?"
        " ORDER BY newer.started_at LIMIT 1",
        (turn_id,),
    ).get
    return None if found is None else str(found)


def _find_named_prompt(db: Database, name: str) -> RecordedPrompt | None:
    return next(
        filter(None, (_find_first_prompt(db, turn) for turn in trace.list_turns_named(db, name))),
        None,
    )


def _load_offered_tools(db: Database, sent: RecordedPrompt) -> Mapping[str, ToolSpec]:
    """Return the stored definitions of the offered tools."""
    kept = prompt_records.load_prompt_sources(db, sent.turn_id, sent.at).tools or ()
    return {tool.name: tool for tool in kept if tool.name in sent.prompt.tools}


def _load_sent_history(db: Database, sent: RecordedPrompt) -> SentHistory:
    if sent.history is None:
        return NO_HISTORY
    window = (
        "session_id = (SELECT session_id FROM turn WHERE id = ?) AND message.id BETWEEN ? AND ?"
    )
    values = (sent.turn_id, *sent.history)
    newest = SENT.select(db, f"{window} ORDER BY message.id DESC LIMIT ?", *values, MAX_MESSAGES)
    sums = f"SELECT count(*), ifnull(sum(length(body)), 0) FROM message WHERE {window}"
    ((total, characters),) = db.execute(sums, values)
    return SentHistory(newest[::-1], int(total), int(characters))


def _find_first_prompt(db: Database, turn_id: str) -> RecordedPrompt | None:
    found = trace.list_prompts(db, Trace(messages=(), turns=(turn_id,), events=()))
    return found[0] if found else None


def _find_model_cost(db: Database, turn_id: str) -> ModelCost | None:
    for row in db.execute(
        "SELECT model, prompt, completion, cached, usd FROM model_call WHERE turn_id = ?"
        " AND state = 'settled' ORDER BY id LIMIT 1",
        (turn_id,),
    ):
        return ModelCost(*row)
    return None
