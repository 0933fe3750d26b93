"""An MCP server that is not ours, through Telegram: used, killed in mid-call, taken away."""

import array
import fcntl
import os
import signal
import sys
import termios
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, processes, running_daemon

from orchestrator.control.protocol import StatusReport
from orchestrator.extensions.mcp_client.toolhost.guardian import __file__ as GUARDIAN  # noqa: N812 - a constant here
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="tools")]

SERVERS: JsonObject = {
    "clock": {
        "command": sys.executable,
        "args": ["-m", "mcp_server_time", "--local-timezone", "Europe/Warsaw"],
    }
}
NOON = '{"source_timezone": "Europe/Warsaw", "time": "12:00", "target_timezone": "Asia/Tokyo"}'


def connected(report: StatusReport) -> bool:
    """Its one server is there."""
    return [item.state for item in report.tool_servers] == ["connected"]


def servers(home: Path) -> list[int]:
    """The processes of the foreign server, without their guardian."""
    found = processes(home).items()
    return [pid for pid, argv in found if "mcp_server_time" in argv and GUARDIAN not in argv]


def unread(pid: int) -> int:
    """Bytes that wait in the pipes of a process (which may have moved its standard input)."""
    total = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        if descriptor.readlink().name.startswith("pipe:"):
            pipe = os.open(descriptor, os.O_RDONLY | os.O_NONBLOCK)
            size = array.array("i", [0])
            fcntl.ioctl(pipe, termios.FIONREAD, size)
            os.close(pipe)
            total += size[0]
    return total


async def test_foreign_server_is_used_killed_in_mid_call_and_taken_away(tmp_path: Path) -> None:
    """Its crash costs one call, which is told; without its entry the tool is gone."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, one_agent(model, SERVERS), bot) as daemon,
    ):
        await daemon.until(connected)
        ask = f"!clock_convert_time {NOON}"
        bot.send_user_message(1, ask)
        assert "Asia/Tokyo" in await bot.reply_in(1)
        schema = model.offered(ask)["clock_convert_time"]["parameters"]
        assert isinstance(schema, dict)
        assert schema["required"] == ["source_timezone", "time", "target_timezone"]

        (server,) = servers(tmp_path)
        os.kill(server, signal.SIGSTOP)  # the call hangs in it
        bot.send_user_message(1, f"!clock_convert_time  {NOON}")
        await daemon.until(lambda _: unread(server) > 0)
        os.kill(server, signal.SIGKILL)
        assert "couldn't confirm whether this happened" in await bot.reply_in(1)
        bot.send_user_message(1, '!clock_get_current_time {"timezone": "Europe/Warsaw"}')
        assert "Europe/Warsaw" in await bot.reply_in(1)
        assert servers(tmp_path) != [server]

        daemon.write(one_agent(model, {}))
        await daemon.logged("config_applied")
        await daemon.until(lambda _: servers(tmp_path) == [])
        bot.send_user_message(1, f"!clock_convert_time   {NOON}")
        assert "there is no tool named" in await bot.reply_in(1)
