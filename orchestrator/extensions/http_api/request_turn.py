"""The turn of a program's request, whose history comes with the request.

Tools of the program are offered in addition to the agent's. Calls to them are not run: they end the
turn and are returned with the answer, and the program's next request brings their results. These
reach the model as the program wrote them, without a fence, but count as text of others.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import cast

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.extensions.http_api import request_history, stored_requests
from orchestrator.extensions.http_api.stored_requests import HandedCall, Request
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import sessions, taint
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.sessions import SentConversation, TurnTranscript
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Reply
from orchestrator.turns import turn_inputs
from orchestrator.turns.outcomes import build_failure
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_context import LoopFacts
from orchestrator.turns.turn_inputs import WINDOW, Gathered, TurnInputs, reserve_and_gather
from thinker.protocol.messages import ToolSpec, UserMessage
from thinker.protocol.methods import StopReason, TurnResult, TurnRun

ENDED_WELL = (
    StopReason.DONE,
    StopReason.MAX_STEPS,
    StopReason.MAX_TOKENS,
    StopReason.LENGTH,
    StopReason.REFUSED,
    StopReason.HANDED_BACK,
)


@dataclass(frozen=True, kw_only=True)
class RequestInputs(TurnInputs):
    """The inputs of a program's turn, with its request and the conversation up to it."""

    request: Request
    conversation: SentConversation


class RequestRecipe(Recipe):
    """The turn of a program's request."""

    @staticmethod
    def gather_inputs(
        db: Database,
        turn: Turn,
        definition: AgentDefinition,
        facts: LoopFacts,
        embedding: Embedding | None,
    ) -> Gathered:
        request = _require_request(db, turn)
        conversation = _load_sent_conversation(db, request)
        read = (*conversation.history, *conversation.messages)
        taint.add_taint(db, turn.id, taint.make_history_taint(read))
        loaded = reserve_and_gather(db, turn, definition, facts, embedding)
        if isinstance(loaded, TurnInputs):
            loaded = RequestInputs(**vars(loaded), request=request, conversation=conversation)
        return loaded

    @staticmethod
    def load_conversation(db: Database, turn: Turn) -> SentConversation:
        return _load_sent_conversation(db, _require_request(db, turn))

    def build_request(self, inputs: TurnInputs) -> TurnRun:
        if not isinstance(inputs, RequestInputs):
            raise TypeError("inputs of a request are loaded by `RequestRecipe.gather_inputs`")
        run, body = super().build_request(inputs), inputs.request.body
        changes = {
            "recipe": "request",
            **inputs.conversation._asdict(),
            "summary": None,
            "tools": _merge_tools(run.tools, body.tools),
            "recent_tools": (),
            "tool_choice": body.tool_choice,
            "asked": body.asked,
            "stream": body.stream and body.asked.output_schema is None,
        }
        run = run.model_copy(update=changes)
        off = inputs.context.definition.provenance == "off"
        return turn_inputs.strip_run_origins(run) if off else run

    def commit_reply(
        self, db: Database, result: TurnResult, now: int, known: TurnTranscript | None = None
    ) -> Reply:
        """Commit T6 and store the outcome for this and any repeated request."""
        turn, body = self.turn, _require_request(db, self.turn).body
        known = known or sessions.load_transcript(db, turn.id)
        uncertain = self._end_subagents(db, known, now)
        text, calls = result.text, tuple[HandedCall, ...]()
        if result.stop_reason is StopReason.HANDED_BACK:
            calls = stored_requests.hand_back_calls(db, turn, body.tools, now)
            known = sessions.load_transcript(db, turn.id)
        elif result.stop_reason is StopReason.LENGTH:  # as the model wrote it, without our remark
            text = known.steps[-1].response.content
        elif body.asked.output_schema is None:  # nothing may be added to JSON
            text = chat_texts.compose_reply(text, (), uncertain)
        if result.stop_reason not in ENDED_WELL and result.error is None:
            result = result.model_copy(update={"error": text})
        shown = text or ", ".join(f"{call.name} {call.arguments}" for call in calls)
        address = known.rows[0].build_address()
        mode = self.formats.choose_mode(address)
        self._close_turn(
            db, result, [OutboxPart(shown, markdown=False, notice=result.notice)], mode, now, known
        )
        stored_requests.store_outcome(
            db, turn, stored_requests.build_outcome(result, text, calls), now
        )
        return Reply(address, mode)

    def dead_letter_message(self, db: Database, deaths: int, reason: str) -> None:
        """Give up on the request; its outcome is an error."""
        super().dead_letter_message(db, deaths, reason)
        text = chat_texts.format_poison(deaths, self.turn.id)
        outcome = stored_requests.build_outcome(build_failure(text).result, text)
        stored_requests.store_outcome(db, self.turn, outcome, self.clock())


def _require_request(db: Database, turn: Turn) -> Request:
    found = stored_requests.find_request_of_turn(db, turn.id)
    if found is None:
        raise JournalError(f"turn {turn.id} answers no request")
    return found


def _load_sent_conversation(db: Database, request: Request) -> SentConversation:
    past = (
        *request_history.list_earlier_messages(db, request, WINDOW),
        *request_history.restore_messages(db, request, request.body.messages),
    )
    newest = [*takewhile(lambda one: isinstance(one, UserMessage), reversed(past))]
    history = past[: len(past) - len(newest)]
    return SentConversation(history, cast("tuple[UserMessage, ...]", past[len(history) :]))


def _merge_tools(own: tuple[ToolSpec, ...], given: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """Join the agent's and the program's tools; the program's win for the same name."""
    if not given:
        return own  # the same object each time, which is encoded once
    names = {tool.name for tool in given}
    return (*given, *(tool for tool in own if tool.name not in names))
