"""The code samples of the page on prompts that the seed is, as they stand there.

Only the name of the package differs, and ``scenario_plan`` is a pydantic model.
"""

from typing import Any

from fakes.model_api import Reply
from fakes.runtime_page import world
from pydantic import BaseModel

from thinker.runtime import (
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

domain_knowledge = {
    "entities": ["product", "segment", "channel"],
    "metrics": ["revenue", "margin"],
}


@define_tool(
    name="search_products",
    description="Search products by query.",
    input_schema={"query": str, "limit": int},
    approval="never",
)
async def search_products(args: Any, ctx: Any) -> Any:
    """Search."""


coordinator_prompt = layered_prompt(
    identity="You coordinate scenario planning for Acme customers.",
    communication="Be concise and surface approval points explicitly.",
    operational_rules=[
        "Route plan-building work to the planner.",
        "Route approved materialization work to the executor.",
    ],
    tools=[search_products],
    domain_knowledge=domain_knowledge,
    safety=["Never execute side-effecting tools without approval."],
    output_format={"events": ["plan_proposed", "approval_required", "tool_result"]},
    examples=[{"user": "Branch Q3 pricing into a 5% promotion for top EU SKUs."}],
)


class ScenarioPlan(BaseModel):
    """Any plan."""

    steps: list[str]


scenario_plan = ScenarioPlan

planner = define_planner(
    name="scenario_planner",
    model="claude-sonnet-4-6",
    plan=scenario_plan,
    prompt=layered_prompt(
        identity="You produce typed scenario plans.",
        domain_knowledge=domain_knowledge,
    ),
)
executor = define_executor(
    name="scenario_executor",
    model="claude-sonnet-4-6",
    plan=scenario_plan,
    tools=[search_products],
    prompt=layered_prompt(
        identity="You execute approved scenario plans action by action.",
        operational_rules=["Execute only approved plans."],
        domain_knowledge=domain_knowledge,
        tools=[search_products],
    ),
)


def test_prompt_has_its_sections_in_the_fixed_order_and_a_stable_key() -> None:
    """With the tool's row; the order of keys in a mapping does not matter."""
    titles = [line for line in coordinator_prompt.text.splitlines() if line.startswith("# ")]
    assert titles == [
        "# Identity",
        "# Communication",
        "# Operational Rules",
        "# Tools",
        "# Domain Knowledge",
        "# Safety",
        "# Output Format",
        "# Examples",
    ]
    assert "| search_products | Search products by query. | never |" in coordinator_prompt.text
    turned = dict(reversed(domain_knowledge.items()))
    again = layered_prompt(identity="You.", domain_knowledge=turned)
    assert (
        again.cache_key
        == layered_prompt(identity="You.", domain_knowledge=domain_knowledge).cache_key
    )


def test_duplicate_rows_render_once() -> None:
    """The tool is in the prompt and bound to the agent."""
    spec = define_runtime(agents=[planner, executor])
    assert spec.agent("scenario_executor").system_prompt == executor.system_prompt
    assert executor.system_prompt.count("search_products") == 1


def test_narrowed_kit_is_merged_into_the_prompt() -> None:
    """Only the tool that the agent's kit is narrowed to."""
    tools = [
        define_tool(name=name, description=f"The {name}.", input_schema={})(print)
        for name in ("execute_query", "describe_table")
    ]
    analyst = define_specialist(
        name="analyst",
        model="claude-sonnet-4-6",
        prompt=layered_prompt(identity="You answer."),
        toolkits=[ToolkitSpec(id="catalog", config={"tools": ["execute_query"]})],
    )
    spec = define_runtime(agents=[analyst], toolkits=[define_toolkit("catalog", tools)])
    prompt = spec.agent("analyst").system_prompt
    assert ("execute_query" in prompt, "describe_table" in prompt) == (True, False)


async def test_agents_of_the_samples_work_together() -> None:
    """The coordinator routes to the planner; the plan is of the samples' type."""
    coordinator = define_coordinator(
        name="coordinator",
        model="claude-sonnet-4-6",
        prompt=coordinator_prompt,
        routes=[planner, executor],
        tools=[search_products],
    )

    def answer(body: dict[str, Any]) -> Reply:
        if body["system"][0]["text"] == planner.system_prompt:
            return Reply('{"steps": ["branch"]}')
        if len(body["messages"]) == 1:
            return Reply(tool_calls=(("scenario_planner", {"goal": "Q3"}),))
        return Reply("Here is the plan.")

    spec = define_runtime(agents=[coordinator, planner, executor])
    async with world(answer, spec) as seen:
        assert (await seen.runtime.query("Branch Q3 pricing.")).text == "Here is the plan."
    (proposed,) = (event for event in seen.events if event.kind == "plan_proposed")
    assert proposed.value == {"steps": ["branch"]}
