"""The turn of a program's request: a turn like any other, whose past comes with the request.

Tools of the program are offered beside the agent's own. Calls of them are not run: they end the
turn and go back with the answer, and the program's next request brings their results.
"""

import apsw

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import (
    api_requests,
    cancellations,
    request_history,
    subagents,
    transcript,
    turns,
    usage,
)
from orchestrator.journal.turns.api_requests import HandedCall, Request
from orchestrator.journal.turns.attachments import Wanted
from orchestrator.journal.turns.outbox import Part
from orchestrator.journal.turns.pauses import Pause
from orchestrator.outbound.delivery import Reply
from orchestrator.turns.turn_inputs import WINDOW, TurnInputs
from orchestrator.turns.turn_runner import TurnRunner
from thinker.protocol.messages import Message, ToolSpec, UserMessage
from thinker.protocol.methods import StopReason, TurnResult, TurnRun

ENDED_WELL = (
    StopReason.DONE,
    StopReason.MAX_STEPS,
    StopReason.MAX_TOKENS,
    StopReason.LENGTH,
    StopReason.REFUSED,
    StopReason.HANDED_BACK,
)


class RequestTurnRunner(TurnRunner):
    """Runs one turn of a request."""

    _asked: Request
    _past: tuple[Message, ...] = ()

    def _find(self, db: apsw.Connection) -> Request:
        found = api_requests.of_turn(db, self._turn.id)
        if found is None:
            raise JournalError(f"turn {self._turn.id} answers no request")
        return found

    def _gather(
        self, db: apsw.Connection, definition: AgentDefinition, meaning: Embedding | None
    ) -> TurnInputs | Pause | list[Wanted]:
        self._asked = asked = self._find(db)
        self._past = (
            *request_history.before(db, asked, WINDOW),
            *request_history.restored(db, asked.agent_id, asked.body.messages),
        )
        return super()._gather(db, definition, meaning)

    def _request(self, gathered: TurnInputs, definition: AgentDefinition) -> TurnRun:
        run, body = super()._request(gathered, definition), self._asked.body
        said = len(self._past)
        while said and isinstance(self._past[said - 1], UserMessage):
            said -= 1
        return run.model_copy(
            update={
                "recipe": "request",
                "messages": self._past[said:],
                "history": self._past[:said],
                "summary": None,
                "tools": _beside(run.tools, body.tools),
                "recent_tools": (),
                "tool_choice": body.tool_choice,
                "asked": body.asked,
                "stream": body.stream and body.asked.output_schema is None,
            }
        )

    def reply(self, db: apsw.Connection, result: TurnResult) -> Reply:
        """T6: what it came to is noted for whoever asks, now or again."""
        turn, now, asked = self._turn, self._services.clock(), self._find(db).body
        cancellations.cancel_awaited(db, turn.id, now)
        text, calls = result.text, tuple[HandedCall, ...]()
        if result.stop_reason is StopReason.HANDED_BACK:
            calls = api_requests.hand_back(db, turn, asked.tools, now)
        elif result.stop_reason is StopReason.LENGTH:  # as the model wrote it, without our remark
            text = transcript.recorded(db, turn.id)[-1].response.content
        elif asked.asked.output_schema is None:  # nothing may stand beside JSON
            text = chat_texts.compose(text, (), subagents.unconfirmed(db, turn.id))
        if result.stop_reason is not StopReason.DEADLINE:  # which ends a call that may be billed
            usage.release(db, turn.id)
        if result.stop_reason not in ENDED_WELL and result.error is None:
            result = result.model_copy(update={"error": text})
        told = text or ", ".join(f"{call.name} {call.arguments}" for call in calls)
        end = (result.stop_reason, result.error)
        parts = [Part(told, markdown=False)]
        address = turns.origin(db, turn.id).address()
        mode = self._services.delivery.mode(address)
        turns.reply(db, turn, parts, mode, end, now, repaired=result.repaired)
        api_requests.end(db, turn, api_requests.outcome(result, text, calls), now)
        return Reply(address, mode)

    def _bury(self, db: apsw.Connection, deaths: int, reason: str) -> None:
        super()._bury(db, deaths, reason)
        told = chat_texts.POISON.format(deaths=deaths, turn=self._turn.id)
        gone = TurnResult(text=told, stop_reason=StopReason.MODEL_ERROR, error=told)
        api_requests.end(db, self._turn, api_requests.outcome(gone, told), self._services.clock())


def _beside(own: tuple[ToolSpec, ...], given: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """The agent's tools and the program's; of a name that both have, the program's."""
    names = {tool.name for tool in given}
    return (*given, *(tool for tool in own if tool.name not in names))
