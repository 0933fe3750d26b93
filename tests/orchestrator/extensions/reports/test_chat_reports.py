"""What chat commands tell of the daemon, its agents and its tasks."""

from pathlib import Path

from fakes.commanded_chat import NOW, STRANGER, chat_in

from orchestrator.inbound.commands import build_menus
from orchestrator.journal.turns import handoffs


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


async def test_agents_are_listed_with_their_pauses_and_the_one_that_answers(
    tmp_path: Path,
) -> None:
    """Also after the chat was handed over."""
    async with chat_in(tmp_path) as chat:
        await chat.says("/pause")
        await chat.says("/pause home")
        assert await chat.says("/agents") == (
            "work: PAUSED (my operator paused me) - answers here\n"
            "home: PAUSED (my operator paused me)"
        )
        await chat.says("/resume home")
        await chat.begins("hello")
        handoffs.hand_over_turn(chat.db, "t1", "home", NOW)
        assert "home: running - answers here" in await chat.says("/agents")


async def test_tasks_are_listed(tmp_path: Path) -> None:
    """None at first."""
    async with chat_in(tmp_path) as chat:
        assert await chat.says("/tasks") == "No task is scheduled."
