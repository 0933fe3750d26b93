"""A whole runtime as data: `define_runtime` joins agents and tools, and checks that they fit."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field, InstanceOf

from orchestrator.extensions.runtime.agent_specs import AgentSpec
from orchestrator.extensions.runtime.defined_tools import (
    DefinedTool,
    RuntimePart,
    Toolkit,
    ToolkitSpec,
    require_tools,
)
from orchestrator.extensions.runtime.runtime_errors import RuntimeSpecError
from thinker.protocol.messages import JsonObject


class BoundToolSpec(RuntimePart):
    """A tool that an agent may use, as JSON."""

    agent: str
    name: str
    description: str
    approval: str
    input_schema: JsonObject


class PlanSpec(RuntimePart):
    """The plan of a planner or executor as JSON: the name of its model and its JSON Schema."""

    agent: str
    name: str
    json_schema: JsonObject


class RuntimeSpec(RuntimePart):
    """Agents with their tools and plans: ``model_dump(by_alias=True, mode="json")`` is JSON."""

    agents: tuple[AgentSpec, ...]
    toolkits: tuple[ToolkitSpec, ...] = ()
    tools: tuple[BoundToolSpec, ...] = ()
    plans: tuple[PlanSpec, ...] = ()
    offered: dict[str, tuple[InstanceOf[DefinedTool], ...]] = Field(
        default_factory=dict, exclude=True
    )

    def agent(self, name: str) -> AgentSpec:
        """Return the agent of this name.

        Raises:
            RuntimeSpecError: there is no such agent.
        """
        found = next((agent for agent in self.agents if agent.name == name), None)
        if found is None:
            known = ", ".join(agent.name for agent in self.agents)
            raise RuntimeSpecError(f"there is no agent {name!r}; the agents are {known}")
        return found

    @property
    def coordinator(self) -> AgentSpec | None:
        """The agent that answers queries; None for a runtime without a coordinator."""
        return next((agent for agent in self.agents if agent.role == "coordinator"), None)


def define_runtime(
    *,
    agents: Iterable[AgentSpec],
    tools: Iterable[DefinedTool] = (),
    toolkits: Iterable[Toolkit] = (),
) -> RuntimeSpec:
    """Join agents to a runtime: bind ``tools`` to all agents and toolkits to those that name them.

    The rows of the tools are merged into each layered prompt; rows that its author wrote win.

    Raises:
        RuntimeSpecError: the agents do not fit together.
    """
    given = tuple(agents)
    for agent in given:
        if not isinstance(agent, AgentSpec):
            raise RuntimeSpecError(
                f"an agent of the runtime is {agent!r:.60}; make it with define_specialist or the "
                "constructor of another role"
            )
    kits = _index_kits(toolkits)
    shared = require_tools("the runtime", tools)
    _check_agents(given)
    offered = {agent.name: _list_offered_tools(agent, shared, kits) for agent in given}
    return RuntimeSpec(
        agents=tuple(agent.with_tools(offered[agent.name]) for agent in given),
        toolkits=tuple(ToolkitSpec(id=kit) for kit in kits),
        tools=tuple(
            BoundToolSpec(
                agent=agent,
                name=tool.name,
                description=tool.description,
                approval=tool.approval,
                input_schema=tool.parameters,
            )
            for agent, bound in offered.items()
            for tool in bound
        ),
        plans=tuple(
            PlanSpec(agent=agent.name, name=plan.__name__, json_schema=plan.model_json_schema())
            for agent in given
            if (plan := agent.plan) is not None
        ),
        offered=offered,
    )


def _index_kits(toolkits: Iterable[Toolkit]) -> dict[str, Toolkit]:
    kits: dict[str, Toolkit] = {}
    for kit in toolkits:
        if not isinstance(kit, Toolkit):
            raise RuntimeSpecError(
                f"a toolkit of the runtime is {kit!r:.60}; make it with define_toolkit. A "
                "ToolkitSpec belongs in the toolkits of an agent"
            )
        if kit.id in kits:
            raise RuntimeSpecError(f"two toolkits are called {kit.id!r}; rename one of them")
        kits[kit.id] = kit
    return kits


def _list_offered_tools(
    agent: AgentSpec, shared: Sequence[DefinedTool], kits: Mapping[str, Toolkit]
) -> tuple[DefinedTool, ...]:
    """Return the tools of an agent: its own, then its toolkits', then the shared ones."""
    found = list(agent.tools)
    for spec in agent.toolkits:
        if spec.id not in kits:
            raise RuntimeSpecError(
                f"the agent {agent.name!r} uses the toolkit {spec.id!r}; add it to the toolkits of "
                "define_runtime"
            )
        found += kits[spec.id].narrowed(spec)
    distinct = {id(tool): tool for tool in (*found, *shared)}  # a tool may be listed twice
    bound = require_tools(f"the agent {agent.name!r}", distinct.values())
    if route := next((tool.name for tool in bound if tool.name in agent.routes), None):
        raise RuntimeSpecError(
            f"the agent {agent.name!r} has a tool and a route {route!r}; rename one of them"
        )
    return bound


def _check_agents(agents: Sequence[AgentSpec]) -> None:
    names = [agent.name for agent in agents]
    if not names:
        raise RuntimeSpecError("the runtime has no agents; give define_runtime at least one")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RuntimeSpecError(f"two agents are called {twice!r}; rename one of them")
    coordinators = [agent.name for agent in agents if agent.role == "coordinator"]
    if len(coordinators) > 1:
        raise RuntimeSpecError(
            f"the agents {' and '.join(coordinators)} are coordinators; a runtime has one"
        )
    planned = {agent.plan for agent in agents if agent.role == "planner"}
    for agent in agents:
        if agent.role == "executor" and agent.plan not in planned:
            raise RuntimeSpecError(
                f"no planner makes the plan of the executor {agent.name!r}; add a planner with the "
                "same plan"
            )
        for route in agent.routes:
            if route not in names or route in coordinators:
                raise RuntimeSpecError(
                    f"the agent {agent.name!r} routes to {route!r}; route to a planner, executor "
                    "or specialist among the agents of the runtime"
                )
