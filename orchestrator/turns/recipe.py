"""What differs between turns by their origin; the default is a person's message.

Extensions override it (`Extension.list_recipes`). A recipe only
reads its own fields, so its methods are safe inside transactions.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import QuarantinedError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns.sessions import SentConversation
from orchestrator.journal.turns.turns import Turn
from orchestrator.processes.worker import Worker, WorkerHost
from orchestrator.prompts.prompt_set import PromptSet, build_environments, select_text_variables
from orchestrator.turns import turn_inputs
from orchestrator.turns.completion import Ending
from orchestrator.turns.outcomes import AgentQuarantined, Outcome, TurnSuspended, build_failure
from orchestrator.turns.turn_context import LoopFacts, TurnContext
from orchestrator.turns.turn_inputs import Gathered, TurnInputs, reserve_and_gather
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol.environments import Environments
from thinker.protocol.messages import ToolSpec, cap_result
from thinker.protocol.methods import ChatRef, TurnResult, TurnRun

if TYPE_CHECKING:
    from orchestrator.turns.turn_host import TurnHost


@dataclass
class Recipe(Ending):
    """The turn of a person's message."""

    shown: ClassVar[bool] = True  # the chat sees the answer while it grows
    limited: ClassVar[bool] = True  # the turn counts towards its agent's maxConcurrentTurns
    # It runs the agent just as agents.json has it, so that T2 can load its inputs.
    as_configured: ClassVar[bool] = True
    services: TurnServices

    @classmethod
    async def load_for_turn(cls, services: TurnServices, turn: Turn) -> Self:
        """Return the recipe of a turn, with what the journal has for it.

        Raises:
            JournalError: the journal cannot be read.
        """
        return cls(turn, services.delivery.formats, services.inputs.clock, services)

    def set_ready(self, now: int) -> None:
        """Note when a worker was first ready to run the turn."""
        if self.turn.ready_at is None:
            self.turn = replace(self.turn, ready_at=now)

    def build_definition(self) -> AgentDefinition:
        """Return the agent as this turn sees it now.

        Raises:
            UnknownAgentError: agents.json has no such agent any more.
        """
        return self.services.inputs.require_definition(self.turn.agent_id)

    def build_environments(self, context: TurnContext) -> Environments:
        """Return the variables set for the turn outside of its prompt, with secrets."""
        return build_environments(context.definition, context.agents, context.address)

    def use_worker(self, definition: AgentDefinition) -> AbstractAsyncContextManager[Worker]:
        return self.services.supervisor.use_worker(definition.agent_id)

    @staticmethod
    def gather_inputs(
        db: Database,
        turn: Turn,
        definition: AgentDefinition,
        facts: LoopFacts,
        embedding: Embedding | None,
    ) -> Gathered:
        """Return the turn's inputs, the pause it must wait for, or the pictures to fetch first."""
        return reserve_and_gather(db, turn, definition, facts, embedding)

    @staticmethod
    def load_conversation(db: Database, turn: Turn) -> SentConversation | None:
        """Return the conversation of a turn that has it from elsewhere than its session."""
        del db, turn
        return None

    def build_request(self, inputs: TurnInputs) -> TurnRun:
        """Build the worker's request."""
        loader, context = self.services.inputs, inputs.context
        prompts = loader.prompts.current_set
        tools = loader.tools.list_offered_tools(context.definition)
        # Without a definition, no text of its prompt has variables.
        known = self.build_environments(context) if context.definition.prompt else None
        return build_turn_run(inputs, prompts, tools, known)

    async def run_in_worker(self, worker: Worker, run: TurnRun, host: WorkerHost) -> TurnResult:
        """Run the turn in a worker.

        Raises:
            WorkerLostError: the worker died or hung.
            WorkerError: the worker answered with an error.
        """
        return await worker.run_turn(run, host, self.clock() / 1000)

    async def run_without_worker(
        self, hosted: "Callable[[TurnInputs], TurnHost]"
    ) -> Outcome | None:
        """Run the turn without a model; None if it needs one."""
        del hosted
        return None

    def choose_quarantine_outcome(self, error: QuarantinedError, *, again: bool) -> Outcome:
        """Return the outcome of an attempt while the agent's worker may not be started."""
        if error.final:
            return build_failure(chat_texts.NO_START, str(error))
        return TurnSuspended(AgentQuarantined(error, again))

    def clean_up(self) -> None:
        """Clean up after the turn has left this process, ended or not."""


class MissingRecipe(Recipe):
    """The turn of a message whose extension is not installed any more; it ends and says so."""

    shown: ClassVar[bool] = False
    limited: ClassVar[bool] = False

    async def run_without_worker(self, hosted: "Callable[[TurnInputs], TurnHost]") -> Outcome:
        del hosted
        return build_failure(chat_texts.NO_EXTENSION.format(kind=self.turn.recipe))


def build_turn_run(
    inputs: TurnInputs,
    prompts: PromptSet,
    tools: tuple[ToolSpec, ...],
    environments: Environments | None = None,
) -> TurnRun:
    """Build the request; ``tools`` are offered to the agent.

    ``environments`` are those of its chat, which an agent without a definition does not need.
    """
    context, stored, known = inputs.context, inputs.stored, inputs.known
    turn, definition, first = context.turn, context.definition, stored.messages[0]
    bundle = prompts.find_bundle(definition) if definition.prompt else None
    texts: dict[str, object] = {}
    if bundle is not None:
        texts["prompt"] = bundle.dump_json()
        if environments is not None:
            texts["environments"] = select_text_variables(bundle, environments)
    if inputs.vector:
        texts["vector"] = inputs.vector
    run = TurnRun(
        turn_id=turn.id,
        chat=ChatRef(
            channel=first.channel,
            chat_id=first.chat_id,
            thread_id=first.thread_id or None,
            private=first.private,
        ),
        messages=stored.said,
        history=tuple(map(cap_result, stored.history)),
        summary=stored.summary,
        summary_origin=stored.summary_origin,
        profile_prompt=known.profile_prompt,
        profile_origin=known.profile_origin,
        memories=known.memories,
        playbooks=known.playbooks,
        skills=known.skills,
        steps=tuple([step.replace_results(cap_result) for step in stored.steps]),
        tools=tools,
        recent_tools=stored.recent_tools,
        context=inputs.sent,
        offered=inputs.offered,
        stream=first.private,
        steer=turn.recipe == "interactive",
        started_at=turn.started_at / 1000,
        deadline=stored.turn.deadline / 1000,
        **texts,
    )
    return turn_inputs.strip_run_origins(run) if definition.provenance == "off" else run
