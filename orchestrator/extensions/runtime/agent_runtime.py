"""Run the agents of a specification in this process: `create_runtime`.

Where: do agents run in a Python program?
"""

import os
import time
from collections import defaultdict
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import anyio
from pydantic import ValidationError
from pydantic_core import to_json

from orchestrator.extensions.runtime.agent_run import AgentRun
from orchestrator.extensions.runtime.agent_specs import AgentSpec, Plan
from orchestrator.extensions.runtime.defined_tools import (
    DefinedTool,
    Handler,
    RunContext,
    define_tool,
)
from orchestrator.extensions.runtime.plan_approval import Approvals, Approve, OnEvent, ProposedPlan
from orchestrator.extensions.runtime.runtime_errors import AgentRunError, RuntimeSpecError
from orchestrator.extensions.runtime.runtime_spec import RuntimeSpec
from thinker import history
from thinker.answers.contract import AnswerContract
from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import Model
from thinker.models.choose import choose_model
from thinker.prompt.layers import OUTPUT
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import AUTO, JsonObject, LayerRecord, Message, Usage, UserMessage
from thinker.protocol.methods import StopReason, TurnResult
from thinker.protocol.prompt_record import ModelSettings, PromptRecord
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import WorkerConfigError

MAX_TURNS = 8  # model calls of an agent that names none, as in agents.json
PLAN_RETRIES = 2  # retries of a planner whose answer is not a plan
SECONDS = 600.0  # for one run of an agent
# How an agent is described to the coordinator that may call it.
ROUTES = {
    "planner": ("goal", "Has a plan made. Returns it with its plan_id; changes nothing."),
    "executor": ("plan_id", "Carries out an approved plan, by its plan_id."),
    "specialist": ("task", "Answers one question. It sees only what you write to it."),
}
NO_ANSWER = frozenset(
    (
        StopReason.MODEL_ERROR,
        StopReason.ACCOUNT,
        StopReason.EMPTY,
        StopReason.OUTPUT,
        StopReason.OVERFLOW,
        StopReason.DEADLINE,
        StopReason.TOOL_CHOICE,
    )
)
Memory = MutableMapping[tuple[str, str], tuple[Message, ...]]


@dataclass(frozen=True)
class AgentAnswer:
    """An agent's answer, why it ended, the tools it called, and the usage of its models."""

    agent: str
    text: str
    stop_reason: StopReason
    tools_used: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


class Runtime:
    """Agents that answer queries; made by `create_runtime`, closed by ``async with``."""

    def __init__(
        self,
        spec: RuntimeSpec,
        models: Mapping[str, Model],
        approvals: Approvals,
        memory: Memory,
        *,
        streams: bool,
    ) -> None:
        self.spec = spec
        self._models = models
        self._approvals = approvals
        self._memory = memory
        self._streams = streams
        self._turns: defaultdict[tuple[str, str], anyio.Lock] = defaultdict(anyio.Lock)
        self._tools = {
            agent.name: {tool.name: tool for tool in self._list_callable_tools(agent)}
            for agent in spec.agents
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to the models."""
        for model in self._models.values():
            await model.aclose()

    async def query(self, prompt: str, *, tenant: str = "default") -> AgentAnswer:
        """Query the coordinator.

        Raises:
            AgentRunError: the coordinator gave no answer.
            RuntimeSpecError: the runtime has no coordinator.
        """
        agent = self.spec.coordinator
        if agent is None:
            raise RuntimeSpecError(
                "the runtime has no coordinator to ask; define one, or use run_specialist"
            )
        return await self._run_agent(agent, prompt, tenant)

    async def run_specialist(self, name: str, task: str, *, tenant: str = "default") -> AgentAnswer:
        """Query a specialist, without the coordinator.

        Raises:
            AgentRunError: the specialist gave no answer.
            RuntimeSpecError: there is no specialist of this name.
        """
        return await self._run_agent(self._require_role("specialist", name), task, tenant)

    async def propose(self, planner: str, goal: str, *, tenant: str = "default") -> ProposedPlan:
        """Have a planner make a plan, which is then validated and waits for approval.

        Raises:
            AgentRunError: the planner gave no plan.
            RuntimeSpecError: there is no planner of this name.
        """
        agent = self._require_role("planner", planner)
        answer = await self._run_agent(agent, goal, tenant)
        try:
            plan = _require_plan(agent).model_validate_json(answer.text)
        except ValidationError as error:  # the planner used up its turns
            raise AgentRunError(planner, answer.stop_reason, answer.text) from error
        return self._approvals.propose(planner, tenant, plan)

    def plan(self, plan_id: str, *, tenant: str = "default") -> ProposedPlan:
        """Return a plan by its id.

        Raises:
            RuntimeSpecError: the tenant has no such plan.
        """
        return self._approvals.plan(tenant, plan_id)

    def approve(self, plan_id: str, *, tenant: str = "default") -> None:
        """Approve a plan for one execution; raises as `plan`."""
        self._approvals.grant(tenant, plan_id)

    async def execute(self, executor: str, plan_id: str, *, tenant: str = "default") -> AgentAnswer:
        """Have an executor carry out an approved plan.

        Raises:
            AgentRunError: the executor gave no answer.
            PlanNotApprovedError: the plan is not approved; nothing was done.
            RuntimeSpecError: there is no such executor or plan, or the plan is of another kind.
        """
        agent, plan = self._require_role("executor", executor), self.plan(plan_id, tenant=tenant)
        if not isinstance(plan.value, _require_plan(agent)):
            raise RuntimeSpecError(
                f"the executor {executor!r} carries out {_require_plan(agent).__name__}; plan "
                f"{plan_id} is a {type(plan.value).__name__}"
            )
        await self._approvals.take(agent.name, plan)
        content = to_json(plan.json, indent=2).decode()
        return await self._run_agent(agent, f"Carry out this approved plan:\n\n{content}", tenant)

    async def _run_agent(self, agent: AgentSpec, prompt: str, tenant: str) -> AgentAnswer:
        """Run an agent; runs of a stateful agent for one tenant wait for each other."""
        if not prompt.strip():
            raise RuntimeSpecError(f"the prompt for {agent.name!r} is empty; say what to do")
        if not agent.stateful:
            return (await self._answer_prompt(agent, prompt, tenant, ()))[0]
        key = tenant, agent.name
        async with self._turns[key]:
            past = tuple(self._memory.get(key, ()))
            answer, messages = await self._answer_prompt(agent, prompt, tenant, past)
            self._memory[key] = history.select_newest((*past, *messages), history.WINDOW)
        return answer

    async def _answer_prompt(
        self, agent: AgentSpec, prompt: str, tenant: str, past: tuple[Message, ...]
    ) -> tuple[AgentAnswer, tuple[Message, ...]]:
        """Return an agent's answer, and the messages to remember."""
        run = AgentRun(agent.name, tenant, self._tools[agent.name], self._approvals)
        request = self._build_request(agent, prompt, past)
        result = await Loop(request, self._models[agent.name], run).run()
        if result.stop_reason in NO_ANSWER:
            raise AgentRunError(agent.name, result.stop_reason, result.error or result.text)
        said = "" if result.notice else result.text
        return _build_answer(agent, result), run.build_conversation(prompt, said)

    def _build_request(
        self, agent: AgentSpec, prompt: str, past: tuple[Message, ...]
    ) -> LoopRequest:
        provider, model = agent.model.resolved()
        contract = None
        if agent.role == "planner":
            contract = AnswerContract(_require_plan(agent), max_retries=PLAN_RETRIES)
            # Not in the system prompt, which goes to the provider as its author wrote it.
            schema = to_json(contract.schema).decode()
            prompt = f"{prompt}\n\n{OUTPUT.format(schema=schema)}"
        return LoopRequest(
            turn_id=agent.name,
            prompt=PromptRecord(
                layers=(LayerRecord(name="prompt", text=agent.system_prompt),),
                settings=ModelSettings(
                    model=f"{provider}/{model}", tool_choice=AUTO, parallel=True
                ),
            ),
            messages=history.prepare_history((*past, UserMessage(content=prompt))),
            tools=tuple(tool.spec for tool in self._tools[agent.name].values()),
            limits=TurnLimits(
                max_steps=agent.max_turns or MAX_TURNS,
                max_tokens=0,
                deadline=time.monotonic() + SECONDS,
            ),
            stream=self._streams,
            relax=PROVIDERS[provider].requests.checks_arguments,
            contract=contract,
        )

    def _require_role(self, role: str, name: str) -> AgentSpec:
        """Return the agent; raise `RuntimeSpecError` if the agent has another role."""
        agent = self.spec.agent(name)
        if agent.role != role:
            raise RuntimeSpecError(f"the agent {name!r} is a {agent.role}, not a {role}")
        return agent

    def _list_callable_tools(self, agent: AgentSpec) -> tuple[DefinedTool, ...]:
        """Return the tools of an agent, and its routes as tools."""
        routes = (self._build_route_tool(self.spec.agent(name)) for name in agent.routes)
        return (*self.spec.offered[agent.name], *routes)

    def _build_route_tool(self, agent: AgentSpec) -> DefinedTool:
        """Return an agent as a tool of the coordinator."""
        call: Handler = partial(self._call_agent, agent)
        argument, about = ROUTES[agent.role]
        return define_tool(name=agent.name, description=about, input_schema={argument: str})(call)

    async def _call_agent(self, agent: AgentSpec, args: JsonObject, context: RunContext) -> object:
        """Run an agent that the coordinator calls."""
        given, tenant = str(args[ROUTES[agent.role][0]]), context.tenant
        if agent.role == "planner":
            plan = await self.propose(agent.name, given, tenant=tenant)
            return {"plan_id": plan.id, "plan": plan.json}
        if agent.role == "executor":
            return (await self.execute(agent.name, given, tenant=tenant)).text
        return (await self._run_agent(agent, given, tenant)).text


def create_runtime(
    spec: RuntimeSpec,
    *,
    environ: Mapping[str, str] = os.environ,
    base_urls: Mapping[str, str] | None = None,
    approve: Approve | None = None,
    on_event: OnEvent | None = None,
    memory: Memory | None = None,
) -> Runtime:
    """Return a runtime for the specification; no model is called until the first query.

    Args:
        spec: what `define_runtime` returned.
        environ: the keys of the providers, under their usual names (``ANTHROPIC_API_KEY``).
        base_urls: addresses of providers that are hosted elsewhere, keyed by the provider's name;
            such a provider needs no key.
        approve: called for every approval; only True approves. May be ``async``.
        on_event: called with events while agents work, including the answer as it grows.
        memory: conversations of stateful agents, keyed by (tenant, agent); default: a new dict.

    Raises:
        RuntimeSpecError: a model cannot be used as configured, or a tool needs approval and there
            is no ``approve``.
    """
    if spec.offered.keys() != {agent.name for agent in spec.agents}:
        raise RuntimeSpecError(
            "the specification has no functions for its tools; make it with define_runtime in this "
            "program, since JSON cannot carry them"
        )
    asking = [tool for bound in spec.offered.values() for tool in bound if tool.approval != "never"]
    if asking and approve is None:
        raise RuntimeSpecError(
            f"calls of the tool {asking[0].name!r} need approval; give create_runtime a function "
            "approve(request) that asks a person and returns True or False"
        )
    models = {agent.name: _choose_model(agent, environ, base_urls or {}) for agent in spec.agents}
    approvals = Approvals(approve, on_event)
    kept: Memory = {} if memory is None else memory
    return Runtime(spec, models, approvals, kept, streams=on_event is not None)


def _choose_model(
    agent: AgentSpec, environ: Mapping[str, str], base_urls: Mapping[str, str]
) -> Model:
    provider, model = agent.model.resolved()
    settings = ThinkerSettings(
        agent_id=agent.name,
        llm_provider=provider,
        model=model,
        base_url=base_urls.get(provider, ""),
    )
    try:
        return choose_model(settings, environ)
    except WorkerConfigError as error:
        raise RuntimeSpecError(str(error).removeprefix("agents.json: ")) from error


def _require_plan(agent: AgentSpec) -> Plan:
    """Return the plan of a planner or executor."""
    if agent.plan is None:
        raise RuntimeSpecError(f"the {agent.role} {agent.name!r} has no plan; define it with one")
    return agent.plan


def _build_answer(agent: AgentSpec, result: TurnResult) -> AgentAnswer:
    return AgentAnswer(agent.name, result.text, result.stop_reason, result.tools_used, result.usage)
