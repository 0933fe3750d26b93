"""Agents as data: the constructors of the roles, and what they refuse."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from orchestrator.extensions.runtime import (
    AgentSpec,
    ModelSpec,
    RuntimeSpecError,
    ToolkitSpec,
    define_coordinator,
    define_executor,
    define_planner,
    define_specialist,
    layered_prompt,
)


class Plan(BaseModel):
    """Any plan."""

    steps: list[str]


def planner(**given: Any) -> AgentSpec:
    """The planner of the seed, with changes."""
    prompt = layered_prompt(identity="You produce typed scenario plans.")
    parts = {"name": "scenario_planner", "model": "claude-sonnet-4-6", "prompt": prompt}
    return define_planner(**{"plan": Plan, **parts, **given})


def test_agent_as_json_has_what_names_it() -> None:
    """In camelCase; the cache key, the functions and an unset maxTurns are left out."""
    agent = planner()
    assert agent.model_dump(by_alias=True, mode="json") == {
        "name": "scenario_planner",
        "role": "planner",
        "stateful": True,
        "model": {"id": "claude-sonnet-4-6", "provider": None},
        "systemPrompt": "# Identity\nYou produce typed scenario plans.",
        "routes": [],
        "toolkits": [],
    }
    assert planner(max_turns=3).model_dump(by_alias=True, mode="json")["maxTurns"] == 3
    assert (
        agent.prompt_cache_key
        == layered_prompt(identity="You produce typed scenario plans.").cache_key
    )
    assert planner(prompt="You plan.").prompt_cache_key is None


def test_each_role_is_stateful_or_not_unless_told_otherwise() -> None:
    """Those that talk with a person or plan remember; those that do one thing do not."""
    common: Any = {"model": "claude-x", "prompt": "You."}
    made = [
        define_coordinator(name="a", **common),
        define_planner(name="b", plan=Plan, **common),
        define_executor(name="c", plan=Plan, **common),
        define_specialist(name="d", **common),
    ]
    assert [(agent.role, agent.stateful) for agent in made] == [
        ("coordinator", True),
        ("planner", True),
        ("executor", False),
        ("specialist", False),
    ]
    assert define_specialist(name="d", stateful=True, **common).stateful


def test_routes_and_kits_are_names_or_specifications() -> None:
    """Both become the same data."""
    agent = define_coordinator(
        name="boss",
        model="claude-x",
        prompt="You lead.",
        routes=[planner(), "analyst"],
        toolkits=["catalog", ToolkitSpec(id="files")],
    )
    assert agent.routes == ("scenario_planner", "analyst")
    assert agent.toolkits == (ToolkitSpec(id="catalog"), ToolkitSpec(id="files"))


@pytest.mark.parametrize(
    ("model", "resolved"),
    [
        ("claude-sonnet-4-6", ("anthropic", "claude-sonnet-4-6")),
        ("gpt-4.1-mini", ("openai", "gpt-4.1-mini")),
        ("groq/qwen/qwen3-32b", ("groq", "qwen/qwen3-32b")),
        (ModelSpec(id="qwen3:8b", provider="ollama"), ("ollama", "qwen3:8b")),
    ],
)
def test_model_names_its_provider(model: str | ModelSpec, resolved: tuple[str, str]) -> None:
    """By its beginning, by a prefix, or in so many words."""
    assert planner(model=model).model.resolved() == resolved


@pytest.mark.parametrize("model", ["qwen3-32b", ModelSpec(id="qwen3-32b", provider="groc")])
def test_model_of_an_unknown_provider_says_how_to_name_one(model: str | ModelSpec) -> None:
    """With the providers that there are."""
    with pytest.raises(
        RuntimeSpecError, match=r"write ModelSpec\(id='qwen3-32b', provider=…\) wit"
    ):
        planner(model=model).model.resolved()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "my agent"}, "agent name 'my agent' cannot be used"),
        ({"model": ""}, "the model of the agent 'scenario_planner' is ''; write it like"),
        ({"prompt": "  "}, "the prompt of the agent 'scenario_planner' is empty"),
        ({"plan": {"steps": list}}, "give a pydantic model: class Plan(BaseModel)"),
        ({"name": None}, "agent name None cannot be used"),
        ({"max_turns": 0}, "max_turns of the agent 'scenario_planner' is 0"),
        ({"max_turns": "5"}, "max_turns of the agent 'scenario_planner' is '5'"),
        ({"max_turns": True}, "max_turns of the agent 'scenario_planner' is True"),
        ({"tools": ["search"]}, "is 'search', which @define_tool has not made"),
    ],
)
def test_wrong_agent_says_what_to_write(wrong: dict[str, Any], said: str) -> None:
    """When it is defined."""
    with pytest.raises(RuntimeSpecError) as caught:
        planner(**wrong)
    assert said in str(caught.value)


@pytest.mark.parametrize("define", [define_coordinator, define_specialist])
def test_prompt_of_another_type_is_a_type_error(define: Callable[..., AgentSpec]) -> None:
    """In the words of the seed."""
    with pytest.raises(TypeError, match=r"^prompt must be a string or LayeredPrompt$"):
        define(name="a", model="claude-x", prompt={"identity": "You."})
