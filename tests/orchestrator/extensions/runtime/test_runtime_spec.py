"""A whole runtime as data: tools are bound and merged into prompts, agents are checked."""

import json
from typing import Any

import pytest
from fakes.runtime_page import names
from pydantic import BaseModel

from orchestrator.extensions.runtime import (
    AgentSpec,
    RuntimeSpecError,
    ToolkitSpec,
    define_coordinator,
    define_executor,
    define_planner,
    define_runtime,
    define_specialist,
    define_tool,
    define_toolkit,
    layered_prompt,
)


class Plan(BaseModel):
    """Any plan."""

    steps: list[str]


def tool(name: str) -> Any:
    """A tool of this name."""
    return define_tool(name=name, description=f"The tool {name}.", input_schema={})(print)


def specialist(name: str = "analyst", prompt: Any = "You.", **given: Any) -> AgentSpec:
    """An agent."""
    return define_specialist(name=name, model="claude-x", prompt=prompt, **given)


def test_specification_is_json() -> None:
    """Agents, kits, tools with their schemas, plans: no function, no key, no address."""
    spec = json.loads(json.dumps(names()["spec"].model_dump(by_alias=True, mode="json")))
    assert spec.keys() == {"agents", "toolkits", "tools", "plans"}
    assert spec["toolkits"] == [{"id": "catalog", "config": {}}]
    assert spec["agents"][3]["toolkits"] == [
        {"id": "catalog", "config": {"tools": ["execute_query"]}}
    ]
    assert [(bound["agent"], bound["name"], bound["approval"]) for bound in spec["tools"]] == [
        ("scenario_planner", "search_products", "never"),
        ("scenario_executor", "set_price", "conditional"),
        ("analyst", "execute_query", "never"),
    ]
    assert [plan["jsonSchema"]["title"] for plan in spec["plans"]] == ["ScenarioPlan"] * 2


def test_tools_are_merged_into_a_layered_prompt_and_written_rows_win() -> None:
    """Own tools, narrowed kits, then shared ones, each name once; the key changes with the text."""
    prompt = layered_prompt(identity="You.", tools=[{"name": "own", "description": "Mine."}])
    agent = specialist(
        prompt=prompt,
        tools=[tool("own")],
        toolkits=[ToolkitSpec(id="kit", config={"tools": ["b"]})],
    )
    kit = define_toolkit("kit", [tool("a"), tool("b")])
    spec = define_runtime(agents=[agent], tools=[tool("shared")], toolkits=[kit])
    merged = spec.agent("analyst")
    rows = [line.split(" |")[0] for line in merged.system_prompt.splitlines() if "| " in line]
    assert rows == ["| Tool", "| ---", "| own", "| b", "| shared"]
    assert "| own | Mine. |" in merged.system_prompt
    assert merged.prompt_cache_key != agent.prompt_cache_key
    assert [found.name for found in spec.offered["analyst"]] == ["own", "b", "shared"]


def test_plain_prompt_stays_as_it_is() -> None:
    """A tool that is offered adds nothing to a text."""
    spec = define_runtime(agents=[specialist(tools=[tool("own")])])
    assert spec.agent("analyst").system_prompt == "You."


COMMON: Any = {"model": "claude-x", "prompt": "You."}
BOSS = define_coordinator(name="boss", **COMMON)
PLANNER = define_planner(name="planner", plan=Plan, **COMMON)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"agents": []}, "has no agents; give define_runtime at least one"),
        ({"agents": ["analyst"]}, "an agent of the runtime is 'analyst'; make it with"),
        ({"agents": [specialist(), specialist()]}, "two agents are called 'analyst'; rename"),
        (
            {"agents": [BOSS, define_coordinator(name="chief", **COMMON)]},
            "boss and chief are coordinators; a runtime has one",
        ),
        (
            {"agents": [define_executor(name="doer", plan=Plan, **COMMON)]},
            "no planner makes the plan of the executor 'doer'",
        ),
        (
            {"agents": [define_coordinator(name="chief", routes=["analyst"], **COMMON)]},
            "'chief' routes to 'analyst'; route to a planner, executor or specialist",
        ),
        (
            {"agents": [specialist(toolkits=["kit"])]},
            "uses the toolkit 'kit'; add it to the toolkits of define_runtime",
        ),
        (
            {"agents": [PLANNER], "toolkits": [ToolkitSpec(id="kit")]},
            "make it with define_toolkit",
        ),
        (
            {"agents": [PLANNER], "toolkits": [define_toolkit("kit", [])] * 2},
            "two toolkits are called 'kit'; rename",
        ),
        (
            {"agents": [specialist(tools=[tool("a")])], "tools": [tool("a")]},
            "the agent 'analyst' has two tools 'a'; rename",
        ),
        (
            {
                "agents": [BOSS.model_copy(update={"routes": ("planner",)}), PLANNER],
                "tools": [tool("planner")],
            },
            "the agent 'boss' has a tool and a route 'planner'; rename",
        ),
    ],
)
def test_agents_that_do_not_fit_together_are_refused(given: dict[str, Any], said: str) -> None:
    """With what to write instead."""
    with pytest.raises(RuntimeSpecError) as caught:
        define_runtime(**given)
    assert said in str(caught.value)
