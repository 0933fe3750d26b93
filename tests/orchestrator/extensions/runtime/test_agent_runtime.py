"""A runtime asks a provider over HTTP: queries, plans, approvals, tools, memory."""

from typing import Any

import pytest
from fakes import runtime_page
from fakes.model_api import Reply
from fakes.runtime_page import PLAN, last_result, names, scenario, world

from orchestrator.extensions.runtime import (
    AgentRunError,
    PlanNotApprovedError,
    RuntimeSpec,
    RuntimeSpecError,
    create_runtime,
    define_coordinator,
    define_runtime,
    define_specialist,
    define_tool,
)
from thinker.protocol.methods import StopReason


async def test_programs_of_the_manual_run_as_they_stand() -> None:
    """Planned, approved, carried out; the program is told each step."""
    async with world(scenario) as seen:
        assert await names()["promote"](seen.runtime) == "Done: a: -5% for acme"
        assert seen.kinds() == [
            ("plan_proposed", "scenario_planner"),
            ("tool_result", "coordinator"),
            ("approval_required", "scenario_executor"),
            ("tool_result", "scenario_executor"),
            ("tool_result", "coordinator"),
        ]
        assert await names()["carry_out"](seen.runtime) == "a: -5% for default"


async def test_system_prompt_reaches_the_provider_byte_for_byte() -> None:
    """What is particular to a run stands in the messages."""
    async with world(scenario) as seen:
        await names()["promote"](seen.runtime)
    prompts = {agent.name: agent.system_prompt for agent in names()["spec"].agents}
    assert set(seen.systems()) == {
        prompts[name] for name in ("coordinator", "scenario_planner", "scenario_executor")
    }


async def test_plan_is_typed_and_asked_for_again_until_it_fits() -> None:
    """A planner's answer is an instance of its model, with a stable id."""
    async with world(scenario) as seen:
        seen.api.script += [Reply("I would say 5%."), Reply('{"title": "Q3"}')]
        plan = await seen.runtime.propose("scenario_planner", "Q3")
        assert plan.value == names()["ScenarioPlan"].model_validate(PLAN)
        assert len(seen.api.requests) == 3
        assert seen.runtime.plan(plan.id) is plan
        assert (await seen.runtime.propose("scenario_planner", "Q3")).id == plan.id


async def test_planner_without_a_plan_is_an_error() -> None:
    """After its retries; the reason is the one that a turn would have."""
    async with world(lambda _: Reply("no")) as seen:
        with pytest.raises(AgentRunError, match="scenario_planner") as caught:
            await seen.runtime.propose("scenario_planner", "Q3")
    assert caught.value.stop_reason == StopReason.OUTPUT


async def test_plan_that_no_one_approved_is_not_carried_out() -> None:
    """Refused, or no one to ask: nothing is asked of the executor's model."""
    spec = runtime_page.names()["spec"]
    refusing: list[Any] = []
    async with world(scenario, approve=refusing.append) as seen:  # returns None
        plan = await seen.runtime.propose("scenario_planner", "Q3")
        with pytest.raises(PlanNotApprovedError, match=r"Runtime\.approve"):
            await seen.runtime.execute("scenario_executor", plan.id)
        assert [request.kind for request in refusing] == ["plan"]
        assert spec.agent("scenario_executor").system_prompt not in seen.systems()


async def test_approval_is_for_one_execution_and_one_tenant() -> None:
    """The second execution asks again; another tenant has no such plan."""
    async with world(scenario, approve=lambda request: request.kind == "tool") as seen:
        plan = await seen.runtime.propose("scenario_planner", "Q3", tenant="acme")
        with pytest.raises(RuntimeSpecError, match="'other' has no plan"):
            seen.runtime.approve(plan.id, tenant="other")
        seen.runtime.approve(plan.id, tenant="acme")
        await seen.runtime.execute("scenario_executor", plan.id, tenant="acme")
        with pytest.raises(PlanNotApprovedError):
            await seen.runtime.execute("scenario_executor", plan.id, tenant="acme")


async def test_coordinator_reads_why_a_plan_was_not_carried_out() -> None:
    """The refusal is the result of its call."""
    async with world(scenario, approve=lambda _: False) as seen:
        answer = await seen.runtime.query("Q3")
    assert "is not approved, so nothing was carried out" in answer.text
    assert answer.tools_used == ("scenario_planner", "scenario_executor")


@define_tool(name="pay", description="Pays.", input_schema={"sum": int}, approval="always")
async def pay(args: dict[str, Any], _: object) -> str:
    """Pays, or fails for a sum of 13."""
    if args["sum"] == 13:
        raise ValueError("no such account")
    return f"paid {args['sum']}"


def paying(body: dict[str, Any]) -> Reply:
    """Pay the sum that the person names, then say what came of it."""
    result = last_result(body)
    if result is not None:
        return Reply(result)
    return Reply(tool_calls=(("pay", {"sum": body["messages"][-1]["content"][0]["text"]}),))


cashier = define_specialist(name="cashier", model="claude-x", prompt="You pay.", tools=[pay])


async def test_tool_runs_after_a_person_has_agreed() -> None:
    """Refused calls and failures are results; arguments are coerced as in the daemon."""
    agreed: list[Any] = []

    async def approve(request: Any) -> bool:
        agreed.append(request.value)
        return bool(request.value["sum"] < 100)

    async with world(paying, define_runtime(agents=[cashier]), approve=approve) as seen:
        texts = [
            (await seen.runtime.run_specialist("cashier", amount)).text
            for amount in ("5", "500", "13")
        ]
    assert texts == [
        "paid 5",
        '{"error":"a person refused this call; do not repeat it"}',
        '{"error":"no such account"}',
    ]
    assert agreed == [{"sum": 5}, {"sum": 500}, {"sum": 13}]


@pytest.mark.parametrize("said", [None, "no", 1])
async def test_only_true_approves(said: Any) -> None:
    """A function that forgets its answer, or answers in words, does not let a payment through."""
    async with world(paying, define_runtime(agents=[cashier]), approve=lambda _: said) as seen:
        answer = await seen.runtime.run_specialist("cashier", "5")
    assert "a person refused this call" in answer.text


async def test_only_false_goes_on_without_asking() -> None:
    """A condition that forgets its answer has the person asked."""

    def condition(args: dict[str, Any]) -> Any:
        return False if args["sum"] < 10 else None

    checked = define_tool(
        name="pay", description="Pays.", input_schema={"sum": int}, approval=condition
    )(lambda args, _: f"paid {args['sum']}")
    agent = cashier.model_copy(update={"tools": (checked,)})
    async with world(paying, define_runtime(agents=[agent]), approve=lambda _: False) as seen:
        texts = [
            (await seen.runtime.run_specialist("cashier", amount)).text for amount in ("5", "50")
        ]
    assert texts[0] == "paid 5"
    assert "refused" in texts[1]


async def test_stateful_agent_is_sent_what_was_said_to_its_tenant() -> None:
    """Calls and results included; a stateless one begins anew, and the program owns the memory."""
    memory: dict[Any, Any] = {}
    lasting = define_specialist(
        name="lasting", model="claude-x", prompt="You remember.", stateful=True
    )
    fleeting = define_specialist(name="fleeting", model="claude-x", prompt="You forget.")
    spec = define_runtime(agents=[lasting, fleeting])
    async with world(lambda _: Reply("ok"), spec, memory=memory) as seen:
        for agent, tenant in (("lasting", "a"), ("lasting", "a"), ("lasting", "b")):
            await seen.runtime.run_specialist(agent, "hello", tenant=tenant)
        for _ in range(2):
            await seen.runtime.run_specialist("fleeting", "hello")
    assert [len(request.body["messages"]) for request in seen.api.requests] == [1, 3, 1, 1, 1]
    assert {key: len(messages) for key, messages in memory.items()} == {
        ("a", "lasting"): 4,
        ("b", "lasting"): 2,
    }


async def test_last_turn_of_an_agent_must_answer_without_tools() -> None:
    """``max_turns`` limits the model calls of a run."""
    hasty = cashier.model_copy(update={"max_turns": 2})

    def answer(body: dict[str, Any]) -> Reply:
        never = body.get("tool_choice", {}).get("type") == "none"
        return Reply("enough") if never else Reply(tool_calls=(("pay", {"sum": 1}),))

    async with world(answer, define_runtime(agents=[hasty])) as seen:
        found = await seen.runtime.run_specialist("cashier", "5")
    assert (found.text, found.stop_reason, len(seen.api.requests)) == ("enough", "max_steps", 2)


async def test_failure_of_the_provider_is_an_error_and_is_not_remembered() -> None:
    """With the provider's own words."""
    memory: dict[Any, Any] = {}
    refusing = Reply("invalid x-api-key", status=401, kind="authentication_error")
    async with world(lambda _: refusing, memory=memory) as seen:
        with pytest.raises(AgentRunError, match="invalid x-api-key") as caught:
            await seen.runtime.query("hello")
    assert (caught.value.stop_reason, memory) == (StopReason.ACCOUNT, {})


def test_what_a_runtime_needs_is_said_before_it_is_asked() -> None:
    """A key, a person to approve, an address that can be used."""
    spec = define_runtime(agents=[cashier])
    with pytest.raises(RuntimeSpecError, match=r"'pay' need approval; give create_runtime"):
        create_runtime(spec, environ={})
    read_back = RuntimeSpec.model_validate(spec.model_dump(by_alias=True, mode="json"))
    with pytest.raises(RuntimeSpecError, match=r"has no functions for its tools"):
        create_runtime(read_back, environ={})
    with pytest.raises(RuntimeSpecError, match=r"^agent 'cashier' uses anthropic without a key"):
        create_runtime(spec, environ={}, approve=lambda _: True)
    with pytest.raises(RuntimeSpecError, match="baseUrl 'nowhere'"):
        create_runtime(spec, environ={}, approve=lambda _: True, base_urls={"anthropic": "nowhere"})


async def test_agent_is_asked_in_the_way_of_its_role() -> None:
    """A wrong role, an unknown name, a missing coordinator: each says what there is."""
    async with world(lambda _: Reply("ok"), define_runtime(agents=[cashier])) as seen:
        with pytest.raises(RuntimeSpecError, match="has no coordinator to ask"):
            await seen.runtime.query("hello")
        with pytest.raises(RuntimeSpecError, match="no agent 'x'; the agents are cashier"):
            await seen.runtime.run_specialist("x", "hello")
        with pytest.raises(RuntimeSpecError, match="'cashier' is a specialist, not a planner"):
            await seen.runtime.propose("cashier", "hello")
        with pytest.raises(
            RuntimeSpecError, match="the prompt for 'cashier' is empty; say what to do"
        ):
            await seen.runtime.run_specialist("cashier", " \n")


async def test_coordinator_calls_a_specialist_by_its_name() -> None:
    """With a task, and the tenant of the query."""
    boss = define_coordinator(name="boss", model="claude-x", prompt="You lead.", routes=["cashier"])

    def answer(body: dict[str, Any]) -> Reply:
        if body["system"][0]["text"] == "You pay.":
            return paying(body)
        found = last_result(body)
        return Reply(found) if found else Reply(tool_calls=(("cashier", {"task": "7"}),))

    async with world(answer, define_runtime(agents=[boss, cashier])) as seen:
        assert (await seen.runtime.query("pay", tenant="acme")).text == "paid 7"
    assert {event.tenant for event in seen.events} == {"acme"}
