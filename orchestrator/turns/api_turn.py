"""The turn of a program's request, whose history comes with the request.

Tools of the program are offered beside the agent's own. Calls of them are not run: they end the
turn and go back with the answer, and the program's next request brings their results. These reach
the model as the program wrote them, without a fence, but count as text of others.
"""

from dataclasses import replace

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import api_requests, request_history, taint, transcript
from orchestrator.journal.turns.api_requests import HandedCall, Request
from orchestrator.journal.turns.outbox import Part
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Reply
from orchestrator.turns import input_origins
from orchestrator.turns.outcomes import failed
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_inputs import (
    WINDOW,
    Gathered,
    LoopFacts,
    TurnInputs,
    reserve_and_gather,
)
from thinker.protocol.environments import Environments
from thinker.protocol.messages import ToolSpec, UserMessage
from thinker.protocol.methods import StopReason, TurnResult, TurnRun
from thinker.protocol.names import turn_name

ENDED_WELL = (
    StopReason.DONE,
    StopReason.MAX_STEPS,
    StopReason.MAX_TOKENS,
    StopReason.LENGTH,
    StopReason.REFUSED,
    StopReason.HANDED_BACK,
)


class RequestRecipe(Recipe):
    """The turn of a program's request."""

    @staticmethod
    def gather(
        db: Database,
        turn: Turn,
        definition: AgentDefinition,
        facts: LoopFacts,
        embedding: Embedding | None,
    ) -> Gathered:
        request = _request_of(db, turn)
        conversation = (
            *request_history.before(db, request, WINDOW),
            *request_history.restored(db, request, request.body.messages),
        )
        taint.add(db, turn.id, taint.of_history(conversation))
        loaded = reserve_and_gather(db, turn, definition, facts, embedding)
        if isinstance(loaded, TurnInputs):
            loaded = replace(loaded, request=request, conversation=conversation)
        return loaded

    def request(self, inputs: TurnInputs, environments: Environments) -> TurnRun:
        if inputs.request is None:
            raise TypeError("inputs of a request are loaded by `RequestRecipe.gather`")
        run, body = super().request(inputs, environments), inputs.request.body
        past = inputs.conversation
        newest = len(past)
        while newest and isinstance(past[newest - 1], UserMessage):
            newest -= 1
        changes = {
            "recipe": "request",
            "messages": past[newest:],
            "history": past[:newest],
            "summary": None,
            "tools": _beside(run.tools, body.tools),
            "recent_tools": (),
            "tool_choice": body.tool_choice,
            "asked": body.asked,
            "stream": body.stream and body.asked.output_schema is None,
        }
        run = run.model_copy(update=changes)
        return input_origins.unmarked(run) if inputs.definition.provenance == "off" else run

    def reply(self, db: Database, result: TurnResult) -> Reply:
        """Commit T6 and store the outcome for this and any repeated request."""
        turn, now = self.turn, self._services.inputs.clock()
        known, body = transcript.read(db, turn.id), _request_of(db, turn).body
        uncertain = self._end_subagents(db, known)
        text, calls = result.text, tuple[HandedCall, ...]()
        if result.stop_reason is StopReason.HANDED_BACK:
            calls = api_requests.hand_back(db, turn, body.tools, now)
            known = transcript.read(db, turn.id)
        elif result.stop_reason is StopReason.LENGTH:  # as the model wrote it, without our remark
            text = known.steps[-1].response.content
        elif body.asked.output_schema is None:  # nothing may stand beside JSON
            text = chat_texts.compose(text, (), uncertain)
        if result.stop_reason not in ENDED_WELL and result.error is None:
            result = result.model_copy(update={"error": text})
        shown = text or ", ".join(f"{call.name} {call.arguments}" for call in calls)
        address = known.rows[0].address()
        mode = self._formats.mode(address)
        self._close(db, result, [Part(shown, markdown=False)], mode, known)
        api_requests.end(db, turn, api_requests.outcome(result, text, calls), now)
        return Reply(address, mode)

    def dead_letter(self, db: Database, deaths: int, reason: str) -> None:
        """Give the request up; its outcome is an error."""
        super().dead_letter(db, deaths, reason)
        text = chat_texts.POISON.format(deaths=deaths, turn=turn_name(self.turn.id))
        outcome = api_requests.outcome(failed(text).result, text)
        api_requests.end(db, self.turn, outcome, self._services.inputs.clock())


def _request_of(db: Database, turn: Turn) -> Request:
    found = api_requests.of_turn(db, turn.id)
    if found is None:
        raise JournalError(f"turn {turn.id} answers no request")
    return found


def _beside(own: tuple[ToolSpec, ...], given: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """Join the agent's tools and the program's; the program's win where names are the same."""
    names = {tool.name for tool in given}
    return (*given, *(tool for tool in own if tool.name not in names))
