"""Sessions: the stored conversation of one agent with one chat, and its turns read back."""

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from orchestrator.journal.db.database import Database, Rows, ask_ahead
from orchestrator.journal.turns import inbox, prompt_records, taint
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import HOOKS, Address
from orchestrator.journal.turns.steps import ENDED, IMMEDIATE
from orchestrator.journal.turns.taint import UNREAD
from thinker.protocol.messages import (
    MESSAGE,
    AssistantMessage,
    Message,
    Origin,
    ToolResult,
    Usage,
    UserMessage,
    find_least_trusted,
)
from thinker.protocol.methods import RETURNED, RecordedCall, RecordedStep

SHORT = 2000  # characters of the longest message whose parsed form is cached for the next turn
UNREAD_CHARACTERS = 500  # kept of a message that was too long for the model
REJECTED = "[a message that the content filter rejected]"
UNCOVERED = (  # at least one row, with the session that it goes on from
    "FROM session LEFT JOIN message ON session_id = session.id AND message.id > summary_upto"
    " WHERE session.id = ?1"
)
HISTORY = f"SELECT message.id, body, parent_id {UNCOVERED} ORDER BY message.id DESC LIMIT ?2"
SUMMARY = """SELECT summary, summary_origin, summary_upto, parent_id, parent_upto FROM session
  WHERE id = ?"""
RECENT_TOOLS = """SELECT step.name FROM step JOIN (SELECT rowid AS n, id FROM turn
  WHERE session_id = ? AND state IN('replied','closed') ORDER BY started_at DESC, n DESC LIMIT ?)
  AS last ON step.turn_id = last.id WHERE step.kind = 'tool' ORDER BY last.n DESC, step.seq"""
MAX_LINE = 8  # sessions that one goes on from
LINE = f"""WITH RECURSIVE line(id, upto, depth) AS (
  SELECT parent_id, parent_upto, 1 FROM session WHERE id = ?1 AND parent_id IS NOT NULL
  UNION ALL SELECT parent_id, iif(parent_upto < upto, parent_upto, upto), depth + 1
  FROM line JOIN session USING(id) WHERE parent_id IS NOT NULL AND depth < {MAX_LINE})"""
# Of each session of a line its newest messages alone: the session may be long.
NEWEST_OF_LINE = """session_id = line.id AND message.id <= upto AND message.id >= (SELECT min(id)
  FROM (SELECT own.id FROM message AS own WHERE own.session_id = line.id AND own.id <= upto
    ORDER BY own.id DESC LIMIT {}) AS newest)"""
# The newest messages of the sessions that the session ?1 goes on from, up to where it does, which
# no summary of these alone covers.
INHERITED = f"""{LINE} SELECT message.id, body FROM line CROSS JOIN session CROSS JOIN message
WHERE session.id = line.id AND {NEWEST_OF_LINE.format("?2")}
  AND message.id > iif(summary_upto > upto, 0, summary_upto) ORDER BY message.id DESC LIMIT ?2"""
FIRST_ID = (  # of the chat ?3 of the channel ?2, see `chat_moves`
    "coalesce((SELECT old_id FROM chat_move WHERE channel = ?2 AND new_id = ?3), ?3)"
)
ADDRESSES = Rows(Address, "inbox")


class HistoryWindow(NamedTuple):
    """Messages of a session, oldest first, and the ids of the first and the last of them.

    The first ones, ``inherited``, are of sessions that it goes on from.
    """

    messages: tuple[Message, ...]
    span: tuple[int, int] | None
    inherited: int = 0

    @property
    def inherited_tools(self) -> tuple[str, ...]:
        """The tools of the sessions that it goes on from, the last first."""
        earlier = reversed(self.messages[: self.inherited])
        return tuple(dict.fromkeys(one.name for one in earlier if isinstance(one, ToolResult)))


class SentConversation(NamedTuple):
    """What a model is sent of a conversation: earlier messages, and those of the turn."""

    history: tuple[Message, ...]
    messages: tuple[UserMessage, ...]


def open_session(db: Database, agent_id: str, chat_key: str, now: int, scope: str = "") -> int:
    """Return the id of the open session; start one if no session is open.

    ``scope`` is its part of the memory.
    """
    found = db.execute(
        "SELECT id FROM session WHERE agent_id = ? AND chat_key = ? AND ended_at IS NULL",
        (agent_id, chat_key),
    ).get
    if isinstance(found, int):
        return found
    new = "INSERT INTO session(agent_id, chat_key, started_at, scope) VALUES(?,?,?,?) RETURNING id"
    return int(db.execute(new, (agent_id, chat_key, now, scope)).get)


def end_session(db: Database, agent_id: str, chat_key: str, now: int) -> None:
    """End the open session; the next message starts a new one."""
    db.execute(
        "UPDATE session SET ended_at = ? WHERE agent_id = ? AND chat_key = ? AND ended_at IS NULL",
        (now, agent_id, chat_key),
    )


def merge_sessions(db: Database, session_id: int, into: int, now: int) -> None:
    """End a session and append its messages to another one."""
    db.execute("UPDATE message SET session_id = ? WHERE session_id = ?", (into, session_id))
    db.execute("UPDATE session SET parent_id = ? WHERE parent_id = ?", (into, session_id))
    db.execute(
        "UPDATE session SET tokens = tokens + more, idle_since = coalesce(since, idle_since)"
        " FROM (SELECT tokens AS more, idle_since AS since FROM session WHERE id = ?) AS later"
        " WHERE id = ?",
        (session_id, into),
    )
    db.execute("UPDATE session SET ended_at = ? WHERE id = ?", (now, session_id))


def append_messages(
    db: Database, session_id: int, turn_id: str, messages: list[Message], now: int
) -> None:
    bodies = [MESSAGE.dump_json(message).decode() for message in messages]
    db.execute(
        "INSERT INTO message(session_id, turn_id, at, body) VALUES"
        + ",".join([f"(?1,?2,?3,?{number})" for number in range(4, 4 + len(bodies))]),
        (session_id, turn_id, now, *bodies),
    )
    db.execute(
        "UPDATE session SET tokens = tokens + ?, idle_since = ? WHERE id = ?",
        (sum(map(estimate_tokens, messages)), now, session_id),
    )


def estimate_tokens(message: Message) -> int:
    """Estimate the tokens of a message with its tool calls: four characters each, rounded up."""
    if isinstance(message, UserMessage) and (
        message.fence or message.documents or message.context or message.quote
    ):
        size = len(message.text)
    else:
        size = len(message.content)
    if isinstance(message, AssistantMessage) and message.tool_calls:
        size += sum(len(call.model_dump_json()) for call in message.tool_calls)
    return -(-size // 4)


def ask_for_history(db: Database, session_id: int, limit: int, jump: int, turns: int) -> None:
    """Announce `load_summary`, `load_history_window` and `list_recent_tools`."""
    ask_ahead(db, (SUMMARY, (session_id,)), (RECENT_TOOLS, (session_id, turns)))
    if jump == 1:
        ask_ahead(db, (HISTORY, (session_id, limit)))


def list_history(db: Database, session_id: int, limit: int, jump: int = 1) -> tuple[Message, ...]:
    """Return the newest ``limit`` messages that no summary covers, oldest first.

    Up to ``jump`` - 1 more are returned, so that the first message stays the same for as many
    messages and moves by ``jump`` then.
    """
    return load_history_window(db, session_id, limit, jump).messages


def load_history_window(db: Database, session_id: int, limit: int, jump: int = 1) -> HistoryWindow:
    """Return the messages of `list_history` with their ids in the journal."""
    if jump > 1:
        count, parent = db.execute(
            f"SELECT count(message.id), max(parent_id) {UNCOVERED}", (session_id,)
        ).get
        if parent is not None:
            count += len(db.execute(INHERITED, (session_id, limit)).fetchall())
        limit += max(0, count - limit) % jump
    found = db.execute(HISTORY, (session_id, limit)).fetchall()
    rows = [(number, body) for number, body, _ in found if number is not None]
    own = len(rows)
    if found and found[0][2] is not None:
        rows += db.execute(INHERITED, (session_id, limit - len(rows)))
    messages = [
        _parse_message(body) if len(body) <= SHORT else MESSAGE.validate_json(body)
        for _, body in reversed(rows)
    ]
    span = (int(rows[-1][0] or 0), int(rows[0][0] or 0)) if rows else None
    return HistoryWindow(tuple(messages), span, len(rows) - own)


def load_summary(
    db: Database, session_id: int, upto: int | None = None, depth: int = 0
) -> tuple[str | None, Origin]:
    """Return the summary, and the least trusted origin of its content.

    It follows that of the session that this one goes on from. With ``upto``, it is the summary that
    the turn of that message was told.
    """
    ((own, origin, covered, parent, point),) = db.execute(SUMMARY, (session_id,))
    if upto is not None and covered > upto:
        return prompt_records.find_told_summary(db, upto), "user"
    if parent is not None and depth < MAX_LINE:
        last = point if upto is None else min(point, upto)
        told, source = load_summary(db, parent, last, depth + 1)
        if told is not None:
            both = None if own is None else f"{told}\n\n{own}"
            return both or told, find_least_trusted(source, origin if both else "operator")
    return own, origin if own is not None else "user"


def list_recent_tools(db: Database, session_id: int, turns: int) -> tuple[str, ...]:
    """Return the tools of the session's last turns, newest turn first, each once."""
    rows = db.execute(RECENT_TOOLS, (session_id, turns))
    return tuple(dict.fromkeys([str(name) for (name,) in rows]))


def find_known_address(db: Database, agent_id: str, channel: str, chat_id: str) -> Address | None:
    """Return the address of a chat that has written to an agent before, under any of its ids.

    A webhook is named by the operator and need not have written.
    """
    if channel == HOOKS:
        return Address(HOOKS, "local", chat_id)
    where = f"agent_id = ?1 AND channel = ?2 AND chat_id = {FIRST_ID} ORDER BY id DESC LIMIT 1"
    return ADDRESSES.find_first(db, where, agent_id, channel, chat_id)


@lru_cache(maxsize=2000)
def _parse_message(body: str) -> Message:
    return MESSAGE.validate_json(body)


_get_calls = attrgetter("calls")


class TurnTranscript(NamedTuple):
    """A turn as it is in the journal: its messages, in order, and its steps."""

    rows: tuple[InboxRow, ...]
    steps: tuple[RecordedStep, ...]

    @property
    def opening_rows(self) -> tuple[InboxRow, ...]:
        """The messages that did not enter the turn later."""
        return tuple([row for row in self.rows if row.after_step is None])

    @property
    def has_calls(self) -> bool:
        return any(map(_get_calls, self.steps))

    @property
    def has_unfinished_calls(self) -> bool:
        return any(call.result is None for step in self.steps for call in step.calls)


def load_transcript(db: Database, turn_id: str) -> TurnTranscript:
    rows = tuple(inbox.list_turn_messages(db, turn_id))
    return TurnTranscript(rows, _load_steps(db, turn_id, rows))


def _load_steps(db: Database, turn_id: str, rows: Sequence[InboxRow]) -> tuple[RecordedStep, ...]:
    steps: dict[int, RecordedStep] = {}
    for seq, kind, parent, name, result, state, finish, usage in db.execute(
        "SELECT seq, kind, parent, name, result, state, finish, usage FROM step"
        " WHERE turn_id = ? ORDER BY seq",
        (turn_id,),
    ):
        if kind == "model":
            steps[seq] = RecordedStep(
                seq=seq,
                asked=name != IMMEDIATE,
                response=AssistantMessage.model_validate_json(result),
                finish=finish,
                usage=Usage.model_validate_json(usage),
            )
            continue
        ended = ToolResult.model_validate_json(result) if state in ENDED else None
        step = steps[parent]
        call = RecordedCall(seq=seq, result=ended)
        steps[parent] = step.model_copy(update={"calls": (*step.calls, call)})
    for row in rows:
        if (seq := row.after_step) is not None:
            entered = (*steps[seq].entered, row.build_user_message(db))
            steps[seq] = steps[seq].model_copy(update={"entered": entered})
    return tuple(steps.values())


def build_session_messages(
    db: Database, turn_id: str, known: TurnTranscript, sent: str = ""
) -> list[Message]:
    """Return the messages of a turn for its session.

    These are the user's messages, every step, and the reply ``sent`` if no model response has it,
    but no notice: a model would take it for words of its own. Nor is an answer among them that went
    back to the model, since no person has read it. The agent's words count as what the turn has
    read, as it may repeat that.
    """
    ask_ahead(db, (taint.READ, (turn_id,)), (prompt_records.FIRST, (turn_id,)))
    read, context = taint.load_taint(db, turn_id), prompt_records.find_context_layers(db, turn_id)
    spoken: dict[str, object] = {"origin": "user", "private": False, "mixed": False}
    if read is not UNREAD:
        own = read.own_taint
        spoken = {"origin": own.origin, "private": bool(own.private), "mixed": own.is_mixed}
    received = [row.build_user_message(db) for row in known.opening_rows]
    if context:
        received[-1] = received[-1].model_copy(update={"context": context})
    messages: list[Message] = [*received]
    last = ""
    for step in known.steps:
        kept = step.finish != RETURNED
        if kept and (step.response.content or step.response.tool_calls):
            messages.append(step.response.model_copy(update=spoken))
        messages += [call.result for call in step.calls if call.result is not None]
        messages += step.entered
        last = step.response.content.strip() if kept and not step.calls else ""
    if sent and not last:
        messages.append(AssistantMessage.model_validate({"content": sent, **spoken}))
    return messages


def replace_unread_message(message: Message, *, long: bool) -> Message:
    """Return what the history keeps of a user's message that no model read.

    The whole is in the inbox; in the history every later request would be refused for it, because
    it is too ``long`` or because the provider's content filter rejects it.
    """
    if not isinstance(message, UserMessage):
        return message
    kept = message.content[:UNREAD_CHARACTERS]
    lost = len(message.content) - len(kept)
    note = f" [… {lost} more characters were too long for you to read]" if lost else ""
    content = f"{kept}{note}" if long else REJECTED
    return message.model_copy(update={"content": content, "documents": (), "images": ()})


def has_answer(db: Database, turn_id: str) -> bool:
    """Return whether a turn's last step is its answer: no model call is left."""
    found = db.execute(
        "SELECT result, finish, EXISTS(SELECT 1 FROM step AS call WHERE call.turn_id = step.turn_id"
        " AND call.parent = step.seq) FROM step WHERE turn_id = ? AND kind = 'model'"
        " ORDER BY seq DESC LIMIT 1",
        (turn_id,),
    ).fetchone()
    if found is None:
        return False
    result, finish, calls = found
    return not calls and is_answer(AssistantMessage.model_validate_json(result).content, finish)


def is_answer(text: str, finish: str | None) -> bool:
    """Return whether a response without calls is the answer of its turn."""
    return finish != RETURNED and (bool(text.strip()) or finish == "refused")
