"""Define a subagent: its parent or another agent, restricted to what a call asked for."""

from dataclasses import replace

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import UnknownAgentError
from orchestrator.extensions.subagents.agent_tools import NOTIFY
from orchestrator.home_paths import find_bundled_path
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.processes.launch import build_launch_spec, resolve_endpoint
from orchestrator.tools import policy
from orchestrator.turns.input_loader import InputLoader
from orchestrator.turns.turn_services import TurnServices
from thinker.formats.prompts.tooluse import NOTIFY_PARENT
from thinker.protocol.messages import ToolSpec

# Subagents start no subagents, so they have no prompts as tools either; and a task would run with
# all rights of the parent.
WITHHELD = ("spawn_subagent", "schedule_task")


def build_subagent_definition(inputs: InputLoader, run: SubagentRun) -> AgentDefinition:
    """Build a subagent's definition from that of its parent or of another agent.

    Another agent keeps its own tools, except those that the call's turn was denied.

    Raises:
        UnknownAgentError: agents.json has no such agent any more.
    """
    spec, prompt_set = run.spec, inputs.prompts.current_set
    found = inputs.require_definition(spec.agent or run.agent_id)
    prompts = prompt_set.list_prompt_tools(found)
    if spec.agent is None:
        every = (tool.name for tool in inputs.tools.list_offered_tools(found))
        offered = tuple(name for name in every if name not in prompts)
        return derive_definition(found, run.subagent_id, spec, offered)
    allowed = (*found.allowed_tools, NOTIFY_PARENT) if found.allowed_tools else ()
    changes = {
        "agent_id": run.subagent_id,
        "port": None,
        "allowed_tools": allowed,
        "denied_tools": (*found.denied_tools, *spec.denied_tools, *WITHHELD, *prompts),
    }
    return found.model_copy(update=changes)


def derive_definition(
    parent: AgentDefinition, subagent_id: str, spec: SubagentSpec, offered: tuple[str, ...]
) -> AgentDefinition:
    """Restrict a definition for a subagent; ``offered`` are its parent's tools."""
    denied = (*spec.denied_tools, *WITHHELD)
    tools = tuple(
        name for name in offered if policy.is_tool_allowed(name, spec.allowed_tools, denied)
    )
    prompt = find_bundled_path("prompts") / "subagent.md"
    return parent.model_copy(
        update={
            "agent_id": subagent_id,
            "system_prompt": prompt.read_text("utf-8").strip(),
            "prompt": spec.prompt,
            "port": None,
            "model": spec.model or parent.model,
            "allowed_tools": tools,
            "denied_tools": () if tools else ("*",),  # an empty list of allowed tools allows all
        }
    )


def list_subagent_tools(
    inputs: InputLoader, definition: AgentDefinition, spec: SubagentSpec
) -> tuple[ToolSpec, ...]:
    """Return the tools of a subagent, with the one to reach its parent if needed."""
    offered = inputs.tools.list_offered_tools(definition)
    return (*offered, NOTIFY.spec) if spec.explicit else offered


def define_subagent(services: TurnServices, definition: AgentDefinition, run: SubagentRun) -> None:
    """Define the subagent's process in the supervisor.

    Raises:
        UnknownAgentError: the agent that it derives from was removed.
    """
    supervisor, inputs, spec = services.supervisor, services.inputs, run.spec
    configured = spec.agent or run.agent_id
    slot = supervisor.slots.get(configured)
    if slot is None:
        raise UnknownAgentError(configured)
    # A prompt that names no model has the agent's own, not that of the prompt that calls it.
    inherited = (slot.spec.own if spec.prompt else None) or slot.spec.endpoint
    endpoint = replace(inherited, model=spec.model or inherited.model)
    prompts = inputs.prompts.current_set
    modelled = prompts.apply_prompt_model(definition, inputs.agents())
    if modelled != definition:
        definition, endpoint = modelled, resolve_endpoint(modelled, services.environ, ())
    launch = build_launch_spec(
        definition=definition,
        settings=services.settings,
        endpoint=endpoint,
        environ=services.environ,
        templates=prompts.templates,
        sandbox=slot.spec.sandbox,
    )
    supervisor.define_agent(replace(launch, parent=run.agent_id), definition.idle_timeout_minutes)
