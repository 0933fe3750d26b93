"""Agents as data: a constructor for each role, and `AgentSpec`, which they return."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, InstanceOf

from orchestrator.extensions.runtime.defined_tools import (
    DefinedTool,
    RuntimePart,
    ToolkitSpec,
    check_name,
    require_tools,
)
from orchestrator.extensions.runtime.runtime_errors import RuntimeSpecError
from thinker.formats.prompts.plain import is_model
from thinker.prompt.render.layered import LayeredPrompt, read_text_and_key
from thinker.protocol.providers import PROVIDERS, split_reference

AgentRole: TypeAlias = Literal["coordinator", "planner", "executor", "specialist"]
Prompt: TypeAlias = str | LayeredPrompt
Kits: TypeAlias = Iterable[str | ToolkitSpec]
Plan: TypeAlias = type[BaseModel]

# Prefixes of model names that only one provider uses.
KNOWN_MODELS = {"claude-": "anthropic", "gpt-": "openai", "o3": "openai", "o4": "openai"}


class ModelSpec(RuntimePart):
    """A model and its provider; without one, the name implies it: ``groq/…``, ``claude-…``."""

    id: str = Field(min_length=1)
    provider: str | None = None

    def resolved(self) -> tuple[str, str]:
        """Return the provider and the provider's name of the model.

        Raises:
            RuntimeSpecError: the provider is unknown, or the name implies none.
        """
        if self.provider is not None:
            provider, model = self.provider, self.id
        else:
            provider, model = split_reference(self.id, "")
            if not provider:
                found = (name for start, name in KNOWN_MODELS.items() if self.id.startswith(start))
                provider, model = next(found, ""), self.id
        if provider not in PROVIDERS:
            known = ", ".join(sorted(PROVIDERS))
            raise RuntimeSpecError(
                f"the provider of the model {self.id!r} is not known; write "
                f"ModelSpec(id={model!r}, provider=…) with one of {known}"
            )
        return provider, model


class AgentSpec(RuntimePart):
    """One agent. Its JSON has the names; functions and types stay in Python.

    ``stateful``: whether the agent is sent its earlier conversation with the tenant. ``routes`` are
    the agents that this one may call. ``prompt`` is the source of ``system_prompt``, for
    `define_runtime`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    role: AgentRole
    stateful: bool
    model: ModelSpec
    system_prompt: str
    routes: tuple[str, ...] = ()
    toolkits: tuple[ToolkitSpec, ...] = ()
    max_turns: int | None = Field(None, ge=1, exclude_if=lambda turns: turns is None)
    prompt_cache_key: str | None = Field(None, exclude=True)
    prompt: InstanceOf[LayeredPrompt] | None = Field(None, exclude=True)
    tools: tuple[InstanceOf[DefinedTool], ...] = Field((), exclude=True)
    plan: Plan | None = Field(None, exclude=True)

    def with_tools(self, tools: Iterable[DefinedTool]) -> "AgentSpec":
        """Return a copy whose prompt lists ``tools`` too. A plain-text prompt is unchanged."""
        if self.prompt is None:
            return self
        prompt = self.prompt.with_tools(tools)
        changes = {"prompt": prompt, "system_prompt": prompt.text}
        return self.model_copy(update=changes | {"prompt_cache_key": prompt.cache_key})


def define_coordinator(
    *,
    name: str,
    model: str | ModelSpec,
    prompt: Prompt,
    routes: Iterable[AgentSpec | str] = (),
    tools: Iterable[DefinedTool] = (),
    toolkits: Kits = (),
    stateful: bool = True,
    max_turns: int | None = None,
) -> AgentSpec:
    """Define the agent that `Runtime.query` queries; it calls the agents in ``routes`` as tools.

    Raises:
        RuntimeSpecError: a value cannot be used.
        TypeError: ``prompt`` is neither a string nor a LayeredPrompt.
    """
    names = tuple(route.name if isinstance(route, AgentSpec) else route for route in routes)
    agent = _build_agent("coordinator", name, model, prompt, tools, toolkits)
    return _finish_agent(agent, routes=names, stateful=stateful, max_turns=max_turns)


def define_planner(
    *,
    name: str,
    model: str | ModelSpec,
    prompt: Prompt,
    plan: Plan,
    tools: Iterable[DefinedTool] = (),
    toolkits: Kits = (),
    stateful: bool = True,
    max_turns: int | None = None,
) -> AgentSpec:
    """Define an agent whose answer is a ``plan``, a pydantic model; other answers are refused.

    Raises:
        RuntimeSpecError: a value cannot be used.
        TypeError: ``prompt`` is neither a string nor a LayeredPrompt.
    """
    agent = _build_agent("planner", name, model, prompt, tools, toolkits)
    return _finish_agent(
        agent, plan=_require_plan_model(name, plan), stateful=stateful, max_turns=max_turns
    )


def define_executor(
    *,
    name: str,
    model: str | ModelSpec,
    prompt: Prompt,
    plan: Plan,
    tools: Iterable[DefinedTool] = (),
    toolkits: Kits = (),
    stateful: bool = False,
    max_turns: int | None = None,
) -> AgentSpec:
    """Define an agent that carries out approved plans of this kind, and nothing else.

    Raises:
        RuntimeSpecError: a value cannot be used.
        TypeError: ``prompt`` is neither a string nor a LayeredPrompt.
    """
    agent = _build_agent("executor", name, model, prompt, tools, toolkits)
    return _finish_agent(
        agent, plan=_require_plan_model(name, plan), stateful=stateful, max_turns=max_turns
    )


def define_specialist(
    *,
    name: str,
    model: str | ModelSpec,
    prompt: Prompt,
    tools: Iterable[DefinedTool] = (),
    toolkits: Kits = (),
    stateful: bool = False,
    max_turns: int | None = None,
) -> AgentSpec:
    """Define an agent that answers one kind of question.

    Raises:
        RuntimeSpecError: a value cannot be used.
        TypeError: ``prompt`` is neither a string nor a LayeredPrompt.
    """
    agent = _build_agent("specialist", name, model, prompt, tools, toolkits)
    return _finish_agent(agent, stateful=stateful, max_turns=max_turns)


def _build_agent(
    role: AgentRole,
    name: str,
    model: str | ModelSpec,
    prompt: Prompt,
    tools: Iterable[DefinedTool],
    toolkits: Kits,
) -> AgentSpec:
    check_name("agent", name)
    text, key = read_text_and_key(prompt)
    if not text.strip():
        raise RuntimeSpecError(f"the prompt of the agent {name!r} is empty; say who it is")
    if not model or not isinstance(model, str | ModelSpec):
        raise RuntimeSpecError(
            f"the model of the agent {name!r} is {model!r}; write it like 'claude-sonnet-4-6', "
            "'groq/qwen3-32b' or ModelSpec(id=…, provider=…)"
        )
    kits = tuple(ToolkitSpec(id=kit) if isinstance(kit, str) else kit for kit in toolkits)
    return AgentSpec(
        name=name,
        role=role,
        stateful=False,
        model=ModelSpec(id=model) if isinstance(model, str) else model,
        system_prompt=text,
        toolkits=kits,
        prompt_cache_key=key,
        prompt=prompt if isinstance(prompt, LayeredPrompt) else None,
        tools=require_tools(f"the agent {name!r}", tools),
    )


def _finish_agent(agent: AgentSpec, *, max_turns: int | None, **changes: object) -> AgentSpec:
    if max_turns is not None and (type(max_turns) is not int or max_turns < 1):
        raise RuntimeSpecError(
            f"max_turns of the agent {agent.name!r} is {max_turns!r}; use a whole number from 1"
        )
    return agent.model_copy(update={**changes, "max_turns": max_turns})


def _require_plan_model(name: str, plan: Plan) -> Plan:
    """Return ``plan``; raise `RuntimeSpecError` unless ``plan`` is a pydantic model."""
    if not is_model(plan):
        raise RuntimeSpecError(
            f"the plan of the agent {name!r} is {plan!r:.60}; give a pydantic model: "
            "class Plan(BaseModel)"
        )
    return plan
