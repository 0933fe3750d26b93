"""Load the inputs of turns on the event loop, since no transaction may wait for them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.errors import UnknownAgentError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import inbox, sessions, turns
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.media_service import MediaService
from orchestrator.processes.worker import Worker
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_set import build_environments
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.toolcalls.executor import ToolExecutor
from orchestrator.turns.attachments import AttachmentFetcher
from orchestrator.turns.eager_subagents import EagerCalls
from orchestrator.turns.embedding_index import EmbeddingIndex, EmbedToolsRequest
from orchestrator.turns.turn_context import LoopFacts
from orchestrator.turns.turn_inputs import Gathered, TurnInputs

WAITED = 10_000  # milliseconds for a worker, after which a turn's time begins anew


@dataclass(frozen=True, kw_only=True)
class InputLoader:
    """Loads the inputs of turns. ``clock`` returns milliseconds since the epoch."""

    store: Store
    agents: Callable[[], AgentsFile]
    prompts: PromptLibrary
    tools: ToolExecutor
    guard: SpendingGuard
    pictures: AttachmentFetcher
    embeddings: EmbeddingIndex
    media: MediaService
    clock: Callable[[], int]

    def require_definition(self, agent_id: str) -> AgentDefinition:
        """Return the agent as it is configured now.

        Raises:
            UnknownAgentError: agents.json has no such agent any more.
        """
        definition = self.agents().find_agent(agent_id)
        if definition is None:
            raise UnknownAgentError(agent_id)
        return definition

    async def load_inputs(
        self,
        turn: Turn,
        definition: AgentDefinition,
        worker: Worker,
        gather: Callable[..., Gathered],
    ) -> TurnInputs | Pause:
        """Embed the turn's messages, fetch its pictures, and gather its inputs.

        ``gather`` is the turn's `Recipe.gather_inputs`. A turn that waited for its first worker has
        all of its time from now on.
        """
        if turn.ready_at is None and self.clock() - turn.started_at >= WAITED:
            await self.store.transact(turns.extend_deadline, turn, self.clock())
        embedding = await self._embed_messages(turn, definition, worker)
        while True:
            facts = await self._collect_eager_facts(turn, definition)
            found = await self.store.transact(gather, turn, definition, facts, embedding)
            if not isinstance(found, list):
                return found
            await self.pictures.fetch_files(
                found, self.media.make_reader(definition, turn.agent_id)
            )
            if embedding is None:  # the message may have been spoken
                embedding = await self._embed_messages(turn, definition, worker)

    def collect_facts(self, turn: Turn) -> LoopFacts:
        """Collect the data that a transaction needs to read the turn, except eager subagents."""
        return LoopFacts(
            self.guard.build_rules(),
            self.tools.list_running_calls(turn.id),
            fresh=self.tools.servers.new_tools,
        )

    async def _collect_eager_facts(self, turn: Turn, definition: AgentDefinition) -> LoopFacts:
        prompts = self.prompts.current_set
        if turn.recipe == "subagent" or not prompts.list_immediate_subagents(definition):
            return self.collect_facts(turn)
        address = (await self.store.read(turns.load_opening_message, turn.id)).build_address()
        prompts = self.prompts.current_set  # another one may be current by now
        known = build_environments(definition, self.agents(), address)
        eager = EagerCalls(
            uses=prompts.list_immediate_subagents(definition),
            values=prompts.merge_variables(definition, known),
            offered=self.tools.list_offered_tools(definition),
            bundle=prompts.find_bundle(definition),
        )
        return replace(self.collect_facts(turn), eager=eager)

    async def _embed_messages(
        self, turn: Turn, definition: AgentDefinition, worker: Worker
    ) -> Embedding | None:
        if definition.embeddings is None:
            return None
        text = await self.store.transact(_load_unanswered_text, turn.id)
        return await self.embed_text(definition, turn.agent_id, text, worker)

    async def embed_text(
        self, definition: AgentDefinition, owner: str, text: str, worker: Worker
    ) -> Embedding | None:
        """Embed text, and the tools if they are new; return None without an embeddings model.

        ``owner`` is the agent whose memory a turn has.
        """
        if definition.embeddings is None:
            return None
        request = EmbedToolsRequest(worker, partial(self.tools.list_offered_tools, definition))
        return await self.embeddings.embed(definition, owner, text, request)


def _load_unanswered_text(db: Database, turn_id: str) -> str:
    """Return the text of a turn that no model call has answered yet."""
    if sessions.has_answer(db, turn_id):
        return ""
    return "\n".join(row.text for row in inbox.list_opening_messages(db, turn_id))
