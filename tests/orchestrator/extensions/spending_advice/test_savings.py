"""Which changes are named as savings, and in which order."""

from typing import Any

from fakes.agents_file import parsed

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.trials import TrialChange
from orchestrator.extensions.spending_advice.call_facts import AgentUse, CallFact
from orchestrator.extensions.spending_advice.savings import find_savings

MINUTE = 60_000
OWN = {"acme": {"baseUrl": "https://api.acme.example/v1"}}
PRICES = {
    "acme/big": {"input": 10, "output": 40, "cached": 1},
    "acme/middle": {"input": 5, "output": 20, "cached": 0.5},
    "acme/little": {"input": 1, "output": 4, "cached": 0.1},
}


def home(*agents: dict[str, Any]) -> AgentsFile:
    """Agents with models of a provider whose prices are in the file."""
    every = [{"llmProvider": "acme", "model": "big"} | agent for agent in agents]
    loaded = parsed(*every, prices=PRICES, providers=OWN)
    assert not loaded.errors
    return loaded.file


def use(
    agent_id: str = "work",
    model: str = "acme/big",
    *,
    turns: int = 30,
    apart: int = 60,
    unused: dict[str, int] | None = None,
) -> AgentUse:
    """Turns of two calls each, so many minutes apart; the second call is cached."""
    calls = [
        CallFact(f"t{turn}", "chat", model, 4_000, 50, 3_000 * step, 0.03, turn * apart * MINUTE)
        for turn in range(turns)
        for step in (0, 1)
    ]
    return AgentUse(agent_id, 0.06 * turns, calls, unused or {})


def test_model_that_the_home_uses_already_is_named_first() -> None:
    """Of the cheaper ones of the same provider; the trial changes nothing else."""
    file = home({"agentId": "work", "fallbackModels": ["little"]}, {"agentId": "home"})
    (found,) = find_savings(file, [use()])
    assert found.text == "Let work use acme/little instead of acme/big"
    assert (found.kind, found.field, found.value) == ("model", "model", "little")
    assert found.trial.change == TrialChange(model="acme/little")
    assert found.trial.turns == tuple(f"t{turn}" for turn in range(30))[-20:]
    assert found.trial.limit_usd == 2.4
    assert (found.state, found.saved_usd) == ("untried", None)
    assert found.month_usd == 1.8


def test_known_sibling_of_the_newest_version_is_named() -> None:
    """The dearest of those that cost much less, as it is the likeliest to do as well."""
    agent = {"agentId": "work", "llmProvider": "openai", "model": "gpt-5.2"}
    found = find_savings(parsed(agent).file, [use(model="openai/gpt-5.2")])
    assert [one.kind for one in found] == ["model"]
    assert found[0].value.startswith("gpt-5")
    assert "mini" in found[0].value


def test_cached_layout_is_named_where_turns_follow_each_other() -> None:
    """A provider forgets a prompt within minutes; an agent that has the layout hears nothing."""
    file = home({"agentId": "work"})
    assert find_savings(file, [use()]) == ()
    (found,) = find_savings(file, [use(apart=2)])
    assert (found.field, found.value) == ("promptLayout", "cached")
    assert found.trial.change == TrialChange(layout="cached")
    cached = home({"agentId": "work", "promptLayout": "cached"})
    assert find_savings(cached, [use(apart=2)]) == ()


def test_tools_that_were_never_called_are_named_by_their_weight() -> None:
    """What is denied already stays so."""
    file = home({"agentId": "work", "deniedTools": ["run_*"]})
    unused = {f"tool_{number}": 100 + number for number in range(5)}
    (found,) = find_savings(file, [use(unused=unused)])
    assert found.text == (
        "Do not offer work tools that it never called in 30 days: tool_4, tool_3, tool_2 and 2 more"
    )
    assert found.value == "run_*, tool_4, tool_3, tool_2, tool_1, tool_0"
    assert find_savings(file, [use(unused={"small": 10})]) == ()


def test_three_that_save_most_are_named_over_all_agents() -> None:
    """An agent with few calls is left out: nothing can be told of it."""
    file = home(
        {"agentId": "work", "fallbackModels": ["little", "middle"]},
        {"agentId": "home"},
        {"agentId": "rare"},
    )
    found = find_savings(
        file,
        [
            use("rare", turns=9),
            use("home", turns=15, unused={"a": 2_000}),
            use("work", turns=300, apart=2, unused={"a": 500}),
        ],
    )
    assert [(one.agent_id, one.kind) for one in found] == [
        ("work", "layout"),
        ("work", "model"),
        ("work", "tools"),
    ]
    assert found[1].value == "middle"
