"""The trace of a message or turn: all of its states."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import orjson
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from orchestrator.chat_texts import describe_source
from orchestrator.errors import UnknownNameError
from orchestrator.journal.db.database import Database, build_distinct_query
from orchestrator.journal.turns import (
    degradations,
    inbox,
    prompt_records,
    receipts,
    subagents,
    taint,
)
from orchestrator.journal.turns.inbox import InboxRow
from thinker.protocol.call_timing import CallTiming
from thinker.protocol.messages import AssistantMessage, Frozen, Origin, ToolResult, Usage
from thinker.protocol.methods import RETURNED
from thinker.protocol.names import TURN, ChatName, format_chat_name, format_turn_name
from thinker.protocol.prompt_record import PromptRecord

EXCERPT = 200  # characters of a text that the trace holds
CANDIDATES = 20  # matches that the error lists when a name is ambiguous
MAX_SEARCHED = 20_000  # newest turns that a short ending is compared with
LAST_CHARACTER = "\U0010ffff"
# The turns whose ids end with ?1: by the index of names, or among the newest.
ENDS = "substr(id, length(id) - length(?1) + 1) = ?1"
ENDING = f"""SELECT id FROM turn
  WHERE substr(id, length(id) - 7) = substr(?1, length(?1) - 7) AND {ENDS}"""
SHORT_ENDING = f"""SELECT id FROM (SELECT id FROM turn ORDER BY id DESC LIMIT {MAX_SEARCHED})
  AS newest WHERE {ENDS}"""
NAMED = """SELECT id FROM turn WHERE id IN(
  SELECT id FROM (SELECT id FROM turn WHERE id >= ?1 AND id < ?3 ORDER BY id DESC LIMIT ?2) AS begun
  UNION SELECT id FROM ({} ORDER BY id DESC LIMIT ?2) AS ended UNION SELECT ?1)
  ORDER BY id = ?1 DESC, started_at DESC, rowid DESC LIMIT ?2"""
BOTS = build_distinct_query("inbox", "bot_id", "channel = ?1")
# The messages ?3 in all chats of a bot; no index begins with the ids of messages.
OF_BOT = f"""SELECT own.id
  FROM ({build_distinct_query("inbox", "chat_id", "channel = ?1 AND bot_id = ?2")}) AS chat
  CROSS JOIN inbox AS own WHERE own.channel = ?1 AND own.bot_id = ?2
  AND own.chat_id = chat.value AND own.message_id = ?3 LIMIT {CANDIDATES}"""
TURNS_OF = """SELECT turn_id FROM transition WHERE kind = 'inbox' AND number = ?
  AND turn_id IS NOT NULL GROUP BY turn_id ORDER BY min(id)"""
MESSAGES_OF = """SELECT DISTINCT number FROM transition
  WHERE kind = 'inbox' AND turn_id = ? ORDER BY number"""


class _CamelCaseModel(Frozen):
    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True
    )


class TraceEvent(_CamelCaseModel):
    """One change of state; ``at`` in milliseconds since the Unix epoch.

    ``number`` is the id of the inbox or outbox row, or the number of the step; ``ms`` is the time
    since the row's previous state. A model's response has a ``timing`` if it was measured, and
    ``ms`` is the duration of its call.
    """

    at: int
    kind: str
    number: int
    turn_id: str | None
    state: str
    detail: str
    ms: int | None
    timing: CallTiming | None = None


class Trace(_CamelCaseModel):
    """The history of a message or a turn: the ids of both, and the events in order."""

    messages: tuple[int, ...]
    turns: tuple[str, ...]
    events: tuple[TraceEvent, ...]


class RecordedPrompt(_CamelCaseModel):
    """A prompt sent to a turn's model; ``at`` in milliseconds since the Unix epoch.

    ``history`` holds the first and last message ids of its conversation.
    """

    turn_id: str
    at: int
    prompt: PromptRecord
    history: tuple[int, int] | None = None


def load_trace(db: Database, name: str) -> Trace:
    """Return the trace of an inbox id, a ``channel:message_id``, or (part of) a turn id.

    Raises:
        UnknownNameError: the name matches nothing, or several messages and turns, which it lists.
    """
    messages = list_messages_named(db, name)
    turns = list_turns_named(db, name)
    if name in turns:
        turns = [name]
    elif messages:  # an exact match beats a part of a turn's id
        turns = []
    if len(messages) + len(turns) > 1:
        known = [
            f"{row.id}: message {row.message_id} of {row.build_address().name}, {row.state}"
            for row in messages
        ] + _describe_candidates(db, turns)
        raise UnknownNameError(f"{name!r} fits several; write one of\n" + "\n".join(known))
    if messages:
        rows = db.execute(TURNS_OF, (messages[0].id,))
        return _collect_trace(db, [messages[0].id], [str(turn) for (turn,) in rows])
    if turns:
        return load_turn_trace(db, turns[0])
    raise UnknownNameError(
        f"no message or turn matches {name!r}; write a message's number, CHANNEL:MESSAGE_ID or"
        " the end of a turn's id; orchestrator status shows the last ones"
    )


def load_turn_trace(db: Database, turn_id: str) -> Trace:
    """Return the trace of a turn by its whole id."""
    rows = db.execute(MESSAGES_OF, (turn_id,))
    return _collect_trace(db, [int(number) for (number,) in rows], [turn_id])


def list_prompts(db: Database, trace: Trace) -> list[RecordedPrompt]:
    return [
        RecordedPrompt(
            turn_id=turn,
            at=at,
            prompt=prompt,
            history=prompt_records.find_history_window(db, turn, at),
        )
        for turn in trace.turns
        for at, prompt in prompt_records.list_prompts_of_turn(db, turn)
    ]


def list_messages_named(db: Database, name: str) -> list[InboxRow]:
    """Return the messages that a number or a ``channel:message_id`` names."""
    channel, colon, message_id = name.partition(":")
    by_number = name.isascii() and name.isdecimal() and len(name) < len(str(2**63))
    if not (colon or by_number):
        return []
    found = [int(name)] if by_number else []
    for (bot_id,) in db.execute(BOTS, (channel,)).fetchall() if colon else ():
        found += [int(row) for (row,) in db.execute(OF_BOT, (channel, bot_id, message_id))]
    where = "id IN(SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY id LIMIT ?"
    return inbox.INBOX.select(db, where, orjson.dumps(found).decode(), CANDIDATES)


def list_turns_named(db: Database, name: str) -> list[str]:
    """Return the newest turns whose id ends or begins with a name.

    An ending that is shorter than a turn's name is found among the newest `MAX_SEARCHED` turns.
    """
    if not name:
        return []
    ending = ENDING if len(name) >= TURN else SHORT_ENDING
    found = db.execute(NAMED.format(ending), (name, CANDIDATES, f"{name}{LAST_CHARACTER}"))
    return [str(turn) for (turn,) in found]


def _describe_candidates(db: Database, turns: Sequence[str]) -> list[str]:
    sql = "SELECT agent_id, chat_key, started_at FROM turn WHERE id = ?"
    facts = [(turn, *db.execute(sql, (turn,)).fetchall()[0]) for turn in turns]
    unclear = len({format_turn_name(turn) for turn in turns}) < len(turns)
    return [
        f"{turn if unclear else format_turn_name(turn)}: a turn of {agent}"
        f" in {format_chat_name(chat)},"
        f" {datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
        for turn, agent, chat, at in facts
    ]


def _collect_trace(db: Database, messages: list[int], turns: list[str]) -> Trace:
    rows = db.execute(
        "SELECT at, kind, number, turn_id, state, note FROM transition"
        " WHERE kind = 'inbox' AND number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        " OR kind <> 'inbox' AND turn_id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (orjson.dumps(messages).decode(), orjson.dumps(turns).decode()),
    )
    before: dict[tuple[object, ...], int] = {}
    events = []
    for at, kind, number, turn_id, state, note in list(rows):
        key = (kind, number, turn_id if kind in {"turn", "step"} else None)
        details = _describe_row(db, kind, number, turn_id, state)
        timing = _find_call_timing(db, number, turn_id) if kind == "step" else None
        took = at - before[key] if key in before else None
        events.append(
            TraceEvent(
                at=at,
                kind=kind,
                number=number,
                turn_id=turn_id,
                state=state,
                detail=", ".join(filter(None, (*details, note))),
                ms=took if timing is None else timing.ended - timing.began,
                timing=timing,
            )
        )
        before[key] = at
    return Trace(messages=tuple(messages), turns=tuple(turns), events=tuple(events))


def _find_call_timing(db: Database, number: int, turn_id: str | None) -> CallTiming | None:
    sql = "SELECT timing FROM step WHERE turn_id = ? AND seq = ?"
    found = db.execute(sql, (turn_id, number)).get
    return None if found is None else CallTiming.model_validate_json(str(found))


def _describe_timing(timing: CallTiming) -> Iterable[str]:
    """Yield details of a model call besides its duration."""
    if timing.first is not None:
        yield f"first token after {timing.first - timing.began} ms"
    failed = [attempt for attempt in timing.attempts if attempt.error]
    if failed:
        why = "; ".join(dict.fromkeys(attempt.error for attempt in failed))
        yield f"attempt {len(timing.attempts)}, before it {why}"
    if timing.effort:
        yield f"effort {timing.effort}"
    if timing.sent:
        yield f"{timing.sent / 1000:.1f} + {timing.got / 1000:.1f} kB"


def _describe_row(
    db: Database, kind: str, number: int, turn_id: str | None, state: str
) -> Iterable[str]:
    """Yield details of a row in a state."""
    if kind == "inbox":
        return _describe_inbox_row(db, number, turn_id, state)
    if kind == "outbox":
        return _describe_outbox_row(db, number, state)
    if kind == "step":
        return _describe_step(db, number, turn_id, state)
    return _describe_turn(db, turn_id, state)


def _describe_inbox_row(
    db: Database, number: int, turn_id: str | None, state: str
) -> Iterable[str]:
    row = inbox.load_message(db, number)
    if row.origin != "user" and turn_id is None:
        yield f"origin {row.origin}"
    if state == "claimed":
        yield f"by turn {format_turn_name(turn_id or '')}"
    elif turn_id is None:
        yield f"{row.build_address().name}, message {row.message_id} from {row.sender_id}"
        yield _shorten_text(row.text)


def _describe_turn(db: Database, turn_id: str | None, state: str) -> Iterable[str]:
    ((agent_id, version, stop_reason, repaired, scope, waited),) = db.execute(
        "SELECT agent_id, code_ver, stop_reason, repaired, scope, ready_at - started_at FROM turn"
        " WHERE id = ?",
        (turn_id,),
    )
    if state == "running":
        yield f"agent {agent_id}, version {version}"
        yield f"memory {scope}" if scope else ""
        yield "" if waited is None else f"worker ready after {waited} ms"
    elif state != "closed":
        yield f"stop reason {stop_reason}"
        yield from _describe_degradations(db, turn_id, None)
        read = taint.load_taint(db, turn_id or "")
        yield "read from others: " + _format_sources(read.untrusted) if read.untrusted else ""
        yield f"read in private: {', '.join(read.private)}" if read.private else ""
        yield "the answer was repaired: it was cut or not valid JSON" if repaired else ""
        yield from _describe_receipt(db, turn_id or "")


def _describe_step(db: Database, number: int, turn_id: str | None, state: str) -> Iterable[str]:
    ((kind, name, side_effect, args, result, usage, request_id, finish),) = db.execute(
        "SELECT kind, name, class, args, result, usage, request_id, finish FROM step"
        " WHERE turn_id = ? AND seq = ?",
        (turn_id, number),
    )
    if kind == "model":
        used, response = Usage.model_validate_json(usage), AssistantMessage.model_validate_json
        yield f"model {name}, {used.prompt} + {used.completion} tokens"
        timing = _find_call_timing(db, number, turn_id)
        yield from () if timing is None else _describe_timing(timing)
        yield f"request {request_id}" if request_id else ""
        yield "sent back, as it claims what was not done" if finish == RETURNED else ""
        yield from _describe_degradations(db, turn_id, number)
        yield _shorten_text(response(result).content)
        return
    yield f"tool {name}"
    run = None if turn_id is None else subagents.find_run_of_call(db, turn_id, number)
    if run is not None and state == "intent":
        yield f"subagent {run.subagent_id}, message {run.inbox_id}"
    if state == "planned":
        yield f"{side_effect} {_shorten_text(args)}"
    elif state != "intent":
        told = ToolResult.model_validate_json(result)
        yield f"origin {told.origin}" if told.is_untrusted else ""
        yield "private" if told.private else ""
        yield _shorten_text(told.content)
    if state not in {"planned", "intent"}:
        yield from _describe_approval(db, turn_id, number)


def _describe_approval(db: Database, turn_id: str | None, number: int) -> Iterable[str]:
    """Yield why a call was asked about, and where its arguments were from."""
    asked = db.execute(
        "SELECT format('approval %s, %s: %s', code, state, reason), sources FROM approval"
        " WHERE turn_id = ? AND seq = ?",
        (turn_id, number),
    ).fetchone()
    if asked is not None:
        yield str(asked[0])
        for path, (kind, name, _) in orjson.loads(asked[1] or "{}").items():
            yield f"{path}: {describe_source(kind, name)}"


def _describe_degradations(db: Database, turn_id: str | None, seq: int | None) -> Iterable[str]:
    for number, one in degradations.list_degradations_of_turn(db, turn_id or ""):
        if number == seq:
            yield f"with less: {one}"


def _describe_receipt(db: Database, turn_id: str) -> Iterable[str]:
    receipt = receipts.load_receipt(db, turn_id)
    for number, claim in enumerate([] if receipt is None else receipt.claims, 1):
        yield f"claim {number} {_shorten_text(claim.text)!r} {claim.describe_verdict()}"


def _format_sources(origins: Mapping[str, Origin]) -> str:
    return ", ".join(f"{source} ({origin})" for source, origin in origins.items())


def _describe_outbox_row(db: Database, number: int, state: str) -> Iterable[str]:
    row = db.execute(
        "SELECT part, mode, channel, chat_id, thread_id, body, ph_id, msg_id, notice FROM outbox"
        " WHERE id = ?",
        (number,),
    ).fetchone()
    part, mode, channel, chat_id, thread_id, body, placeholder, message_id, notice = row
    yield f"part {part}"
    yield "notice" if notice else ""
    if state == "queued":
        yield f"{mode} to {ChatName(channel, chat_id, thread_id)}"
        yield _shorten_text(body)
    elif state in {"ph_sent", "delivered"}:
        sent = message_id or placeholder
        yield f"platform message {sent}" if sent else ""


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT]}… ({len(text)} characters)"
