"""End a turn: commit its reply (T6), or give up on its message.

Where: does a turn end with its reply (T6), or as a dead letter?
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import MAX_DEATHS
from orchestrator.journal.turns import (
    attachments,
    cancellations,
    inbox,
    outbox,
    sessions,
    subagents,
    turns,
    usage,
)
from orchestrator.journal.turns.outbox import Address, OutboxPart
from orchestrator.journal.turns.sessions import TurnTranscript
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Delivery, Reply, ReplyFormats
from orchestrator.outbound.spoken_words import extract_spoken_words
from orchestrator.turns import answer_receipts, link_guard
from orchestrator.turns.degraded_turns import report_degradations
from thinker.protocol.degradations import Degradation
from thinker.protocol.methods import StopReason, TurnResult

ANSWER = "answer"  # the file of a spoken one, which gets an ending when it is made
log = structlog.get_logger()


class EndedTurn(NamedTuple):
    """The result of T6: the reply, as `Ending.commit_reply` returned it, and the cost of the calls.

    ``usd`` is None if a model of theirs has no price. ``has_more`` tells whether the turn's chat
    has more to do.
    """

    reply: Reply | None
    usd: float | None
    has_more: bool


@dataclass
class Ending:
    """How a turn ends, inside a transaction; for a person's message, unless overridden.

    ``definition`` is the agent as the turn had it, as far as that is known. ``has_more`` tells,
    after T6, whether the turn's chat has more to do; None if that is unknown. ``missing`` are the
    tool servers without which the turn runs.
    """

    turn: Turn
    formats: ReplyFormats
    clock: Callable[[], int]
    definition: AgentDefinition | None = field(default=None, init=False)
    has_more: bool | None = field(default=None, init=False)
    missing: tuple[Degradation, ...] = field(default=(), init=False)

    def commit_reply(
        self, db: Database, result: TurnResult, now: int, known: TurnTranscript | None = None
    ) -> Reply | None:
        """Commit T6: outbox rows, the end of turn and message, the session.

        ``known`` is the turn's journal row, if the caller has it. Return the chat with the reply,
        None if that may be any.
        """
        turn, formats = self.turn, self.formats
        known = known or sessions.load_transcript(db, turn.id)
        origin = known.rows[0]
        address = origin.build_address()
        uncertain = self._end_subagents(db, known, now)
        late = outbox.pop_unconfirmed(db, address.chat_key, now)
        answer = self._defuse_live_links(db, result.text)
        text = answer.strip() or chat_texts.NOTHING
        if late or uncertain:
            text = chat_texts.compose_reply(answer, late, uncertain)
        reply_to = None if address.private or origin.is_internal else origin.message_id
        texts = formats.split_text(address.channel, text)
        texts = texts or formats.split_text(address.channel, chat_texts.NOTHING)
        notice = result.notice or not answer.strip()
        parts = [
            OutboxPart(part.text, rendered=part.rendered, reply_to=reply_to, notice=notice)
            for part in texts
        ]
        mode = formats.choose_mode(address)
        words = extract_spoken_words(answer) if self._is_spoken(db, address) else ""
        if words:
            parts.append(OutboxPart(words, markdown=False, file_name=ANSWER, voice=True))
        self._close_turn(db, result, parts, mode, now, known)
        return Reply(address, "direct" if words else mode)

    def _is_spoken(self, db: Database, address: Address) -> bool:
        """Return whether the answer is also spoken."""
        voice = None if self.definition is None else self.definition.voice
        if voice is None or voice.speak is None or voice.speak.when == "never":
            return False
        if not self.formats.takes_files(address.channel):
            return False
        return voice.speak.when == "always" or attachments.has_voice_message(db, self.turn.id)

    def _end_subagents(self, db: Database, known: TurnTranscript, now: int) -> list[str]:
        """Cancel the subagents that calls wait for; return the effects that may have happened."""
        if not (known.has_calls or inbox.RESULT in [row.kind for row in known.rows]):
            return []
        cancellations.cancel_awaited_subagents(db, self.turn.id, now)
        return subagents.list_unconfirmed_tools_of_runs(db, self.turn.id)

    def _defuse_live_links(self, db: Database, text: str) -> str:
        """Return a reply whose links carry nothing out of a turn that has read both."""
        if self.definition is not None and self.definition.provenance == "off":
            return text
        return (
            link_guard.defuse_reply(db, self.turn, text) if link_guard.HINT.search(text) else text
        )

    def _close_turn(
        self,
        db: Database,
        result: TurnResult,
        parts: list[OutboxPart],
        mode: str,
        now: int,
        known: TurnTranscript | None = None,
    ) -> None:
        """Close the turn with these outbox rows."""
        self.report_degradations(db, result.degraded, None, now)
        end = result.stop_reason, result.error
        turns.end_with_reply(
            db, self.turn, parts, mode, end, now, repaired=result.repaired, known=known
        )

    def report_degradations(
        self, db: Database, found: tuple[Degradation, ...], seq: int | None, now: int
    ) -> bool:
        """Record what a step (None: the turn) did without; return whether chats get notices."""
        if not (found or self.missing):
            return False
        every = (*self.missing, *found)
        return report_degradations(db, self.turn, self.definition, every, seq, now)

    def dead_letter_message(self, db: Database, deaths: int, reason: str) -> None:
        """Give up on the turn's message, and say so where it came from."""
        now = self.clock()
        cancellations.cancel_awaited_subagents(db, self.turn.id, now)
        notice = chat_texts.format_poison(deaths, self.turn.id)
        turns.end_as_dead_letter(db, self.turn, reason, notice, now)


def end_turn(
    db: Database,
    ending: Ending,
    result: TurnResult,
    known: TurnTranscript | None = None,
    now: int | None = None,
    *,
    release: bool = True,
) -> EndedTurn:
    """Commit T6, and ``release`` the reservation of a call that is not made."""
    turn = ending.turn
    if release and result.stop_reason is not StopReason.DEADLINE:  # whose call may be billed
        usage.release_reservation(db, turn.id)
    result = answer_receipts.add_receipt(db, turn, ending.definition, result)
    reply = ending.commit_reply(db, result, ending.clock() if now is None else now, known)
    cost, has_more = usage.sum_turn_cost(db, turn.id), inbox.has_work(db, turn.chat_key)
    if reply is not None and reply.mode != outbox.STORED:
        reply = reply._replace(first=outbox.find_next_row(db, reply.address.chat_key))
    return EndedTurn(reply, cost, has_more)


@dataclass(frozen=True)
class TurnCompletion:
    """Ends turns and announces it; ``listeners`` get the agent's id after each reply.

    ``find_agent`` returns an agent of the current agents.json.
    """

    store: Store
    delivery: Delivery
    find_agent: Callable[[str], AgentDefinition | None]
    clock: Callable[[], int]
    listeners: list[Callable[[str], None]] = field(default_factory=list, init=False)

    async def complete_turn(self, ending: Ending, result: TurnResult) -> None:
        """Commit T6 in a transaction of its own."""
        if ending.definition is None:
            ending.definition = self.find_agent(ending.turn.agent_id)
        self.announce_reply(ending, result, await self.store.transact(end_turn, ending, result))

    def announce_reply(self, ending: Ending, result: TurnResult, ended: EndedTurn | None) -> None:
        """Log a committed reply and wake those who wait for it."""
        turn, used = ending.turn, result.usage
        ending.has_more = None if ended is None else ended.has_more
        log.info(
            "turn_replied",
            stop_reason=result.stop_reason,
            steps=result.steps,
            tools=list(result.tools_used),
            tokens=used.prompt + used.completion,
            usd=None if ended is None else ended.usd,
            ms=self.clock() - turn.started_at,
        )
        self.delivery.send_reply(None if ended is None else ended.reply)
        if result.degraded or ending.missing:  # other chats may have got notices
            self.delivery.wake()
        for listener in self.listeners:
            listener(turn.agent_id)

    async def count_worker_death(self, ending: Ending, problem: str) -> bool:
        """Count a worker that died with the turn; return whether that ended the turn."""
        deaths = await self.store.transact(turns.count_process_death, ending.turn.id)
        log.warning("turn_lost_its_worker", deaths=deaths, problem=problem)
        if deaths < MAX_DEATHS:
            return False
        await self.give_up_message(ending, deaths, problem)
        return True

    async def give_up_message(self, ending: Ending, deaths: int, problem: str) -> None:
        """Make the turn's message a dead letter."""
        await self.store.transact(ending.dead_letter_message, deaths, problem)
        self.delivery.wake()
