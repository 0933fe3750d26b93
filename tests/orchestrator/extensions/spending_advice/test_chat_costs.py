"""What chat commands tell of money."""

from pathlib import Path

from fakes.commanded_chat import NOW, STRANGER, chat_in

from orchestrator.inbound.commands import build_menus
from orchestrator.journal.turns import usage
from thinker.protocol.messages import Usage


async def test_usage_is_listed_by_agent(tmp_path: Path) -> None:
    """Today begins at midnight in the agent's zone."""
    async with chat_in(tmp_path) as chat:
        for days, tokens in ((0, 1_000), (2, 500), (9, 7)):
            at = NOW - days * 86_400_000
            usage.record_usage(
                chat.db, "work", None, "a/b", Usage(prompt=tokens), tokens / 1000, at
            )
        work, home, forecast = (await chat.says("/usage")).splitlines()
        assert work == "work: 1,000 tokens ($1.00) today, 1,500 tokens ($1.50) in 7 days"
        assert home == "home: 0 tokens ($0.00) today, 0 tokens ($0.00) in 7 days"
        assert forecast.startswith("forecast: today about $")
        usage.record_usage(chat.db, "home", None, "a/c", Usage(prompt=7), None, NOW)
        home, _, advice = (await chat.says("/usage")).splitlines()[1:]
        assert home == "home: 7 tokens (cost unknown) today, 7 tokens (cost unknown) in 7 days"
        assert advice.startswith('unknown: calls of a/c, which had no price. Set it in "prices" of')


async def test_guest_reads_the_use_of_the_own_chat_alone(tmp_path: Path) -> None:
    """Money of others is not for guests."""
    async with chat_in(tmp_path) as chat:
        usage.record_usage(chat.db, "work", None, "demo/m", Usage(prompt=500), 0.0, NOW)
        assert (await chat.says("/usage", STRANGER)).startswith("this chat: 0 tokens")
        assert "Only my operator" in await chat.says("/budget", STRANGER)
        lines = (await chat.says("/help", STRANGER)).splitlines()
        assert "/usage" in {line.split()[0] for line in lines}
    assert "usage" in build_menus()["default"]


async def test_home_without_a_budget_hears_how_to_set_one(tmp_path: Path) -> None:
    """There is nothing to list, or to extend."""
    async with chat_in(tmp_path) as chat:
        assert (await chat.says("/budget")).startswith("No budget is set")
        assert "no limit in dollars" in await chat.says("/budget extend 2")
