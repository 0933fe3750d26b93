"""What chat commands tell of the daemon, its agents, tasks and spending."""

from pathlib import Path

from fakes.commanded_chat import NOW, STRANGER, chat_in

from orchestrator.inbound.commands import build_menus
from orchestrator.journal.turns import usage
from thinker.protocol.messages import Usage


async def test_operator_reads_the_state_of_the_daemon(tmp_path: Path) -> None:
    """Its parts, and the messages that wait."""
    async with chat_in(tmp_path) as chat:
        await chat.says("hello")
        assert (await chat.says(" /STATUS ")).splitlines()[1:] == [
            "Agents: work running, home running",
            "Channels: telegram ok",
            "Tool servers: files failed",
            "Messages: 0 in progress, 1 waiting, 0 dead",
        ]
        assert "work: running - answers here" in await chat.says("/agents")


async def test_stranger_is_offered_the_reports_of_the_own_chat(tmp_path: Path) -> None:
    """The others are for operators."""
    async with chat_in(tmp_path) as chat:
        for command in ("/tasks", "/agents"):
            assert "Only my operator" in await chat.says(command, STRANGER)
        lines = (await chat.says("/help", STRANGER)).splitlines()
        assert {"/status", "/usage"} < {line.split()[0] for line in lines}
    assert {"status", "usage"} < build_menus()["default"].keys()


async def test_a_guest_reads_the_state_of_the_own_chat_alone(tmp_path: Path) -> None:
    """Other chats and agents are none of a guest's business."""
    async with chat_in(tmp_path) as chat:
        assert await chat.says("hello", "9") == ""
        usage.record_usage(chat.db, "work", None, "demo/m", Usage(prompt=500), 0.0, NOW)
        assert await chat.says("/status", STRANGER) == "work: running\nNothing waits here."
        said = await chat.says("/usage", STRANGER)
        assert said.startswith("this chat: 0 tokens")


async def test_usage_and_tasks_are_listed(tmp_path: Path) -> None:
    """Today begins at midnight in the agent's zone."""
    async with chat_in(tmp_path) as chat:
        for days, tokens in ((0, 1_000), (2, 500), (9, 7)):
            at = NOW - days * 86_400_000
            usage.record_usage(
                chat.db, "work", None, "a/b", Usage(prompt=tokens), tokens / 1000, at
            )
        assert (await chat.says("/usage")).splitlines() == [
            "work: 1,000 tokens ($1.00) today, 1,500 tokens ($1.50) in 7 days",
            "home: 0 tokens ($0.00) today, 0 tokens ($0.00) in 7 days",
        ]
        usage.record_usage(chat.db, "home", None, "a/c", Usage(prompt=7), None, NOW)
        home, advice = (await chat.says("/usage")).splitlines()[1:]
        assert home == "home: 7 tokens (cost unknown) today, 7 tokens (cost unknown) in 7 days"
        assert advice.startswith('unknown: calls of a/c, which had no price. Set it in "prices" of')
        assert await chat.says("/tasks") == "No task is scheduled."
