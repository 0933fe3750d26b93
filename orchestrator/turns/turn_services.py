"""The parts of the daemon that all turns share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from orchestrator import turn_access
from orchestrator.files import OffLoop, run_off_loop
from orchestrator.home_paths import FOLDER_VARIABLE, name_scope_folder
from orchestrator.journal.db.store import Store
from orchestrator.outbound.delivery import Delivery
from orchestrator.processes.supervisor import Supervisor
from orchestrator.settings import Settings
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.turns.completion import TurnCompletion
from orchestrator.turns.input_loader import InputLoader
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_context import TurnContext
from thinker.protocol.environments import Environments
from thinker.protocol.messages import ToolSpec


@dataclass(frozen=True, kw_only=True)
class TurnServices:
    """Services that all turns share; ``task_ended`` is called after a scheduled task's turn."""

    store: Store
    inputs: InputLoader
    delivery: Delivery
    supervisor: Supervisor
    settings: Settings
    environ: dict[str, str]
    completion: TurnCompletion
    suspension: TurnSuspension
    task_ended: Callable[[], None]
    off_loop: OffLoop = run_off_loop

    def build_tool_context(
        self,
        context: TurnContext,
        environments: Environments,
        offered: tuple[ToolSpec, ...] | None,
    ) -> ToolContext:
        """Return the context of a turn's calls; ``now`` is when the turn began."""
        turn, definition, memory = context.turn, context.definition, context.memory
        formats, inputs = self.delivery.formats, self.inputs
        return ToolContext(
            agent_id=turn.agent_id,
            turn_id=turn.id,
            address=context.address,
            now=turn.started_at,
            timezone=context.timezone,
            skill_directories=self.settings.paths.list_skill_directories(turn.agent_id),
            skills=definition.skills,
            split=formats.split_text,
            mode=formats.choose_mode,
            takes_files=formats.takes_files,
            memory=memory,
            may_write=partial(turn_access.can_write_to_chat, context.agents, memory),
            find_asked_chat=partial(turn_access.find_asked_chat, context.agents, turn.agent_id),
            store=self.store,
            meaning=partial(inputs.embeddings.embed, definition, turn.agent_id),
            document_text=inputs.media.make_reader(definition, turn.agent_id),
            draw=partial(inputs.media.draw_pictures, definition, turn.agent_id),
            denied_tools=definition.denied_tools,
            environments=environments,
            off_loop=self.off_loop,
            command_tool=inputs.tools.servers.find_command_tool(definition.configured_id),
            fast_tasks=self.settings.fast_tasks,
            offered=offered,
            call_env={FOLDER_VARIABLE: name_scope_folder(context.folder_scope)},
        )
