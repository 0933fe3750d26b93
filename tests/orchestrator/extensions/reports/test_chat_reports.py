"""What chat commands tell of the daemon, its agents and its tasks."""

from pathlib import Path

from fakes.commanded_chat import STRANGER, chat_in

from orchestrator.inbound.commands import build_menus


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
        assert "/status" in {line.split()[0] for line in lines}
    assert "status" in build_menus()["default"]


async def test_a_guest_reads_the_state_of_the_own_chat_alone(tmp_path: Path) -> None:
    """Other chats and agents are none of a guest's business."""
    async with chat_in(tmp_path) as chat:
        assert await chat.says("hello", "9") == ""
        assert await chat.says("/status", STRANGER) == "work: running\nNothing waits here."


async def test_tasks_are_listed(tmp_path: Path) -> None:
    """None at first."""
    async with chat_in(tmp_path) as chat:
        assert await chat.says("/tasks") == "No task is scheduled."
