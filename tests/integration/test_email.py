"""The daemon at a mailbox of a real server, while anything of it is killed."""

import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fakes.daemon import RunningDaemon, running_daemon
from fakes.dovecot import PASSWORD, WITH_DOVECOT
from fakes.mail_world import MailWorld, mail_world
from fakes.time_limit import time_limit

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, WITH_DOVECOT, pytest.mark.thorough(part="channels")]
HOST = "channel email"
MESSAGES = int(os.environ.get("EMAIL_MESSAGES", "6"))  # more by hand


def config(world: MailWorld) -> JsonObject:
    """One agent for everyone, all connections encrypted."""
    servers = {
        "imap": f"imaps://localhost:{world.host.imaps}",
        "smtp": f"smtps://localhost:{world.host.submissions}",
    }
    return {
        "agents": [{"agentId": "demo", "llmProvider": "demo"}],
        "channels": {"email": {**world.options, **servers, "access": "open"}},
        "bindings": [{"channel": "email", "chatId": "*", "agentId": "demo"}],
    }


@asynccontextmanager
async def daemons(home: Path, world: MailWorld) -> AsyncIterator["Daemons"]:
    """Daemons of one home, one after another."""
    async with AsyncExitStack() as stack:
        found = Daemons(home, world, stack)
        await found.begin()
        yield found


class Daemons:
    """The daemon that runs, and what kills it."""

    def __init__(self, home: Path, world: MailWorld, stack: AsyncExitStack) -> None:
        self._home = home
        self._world = world
        self._stack = stack
        self.running: RunningDaemon

    async def begin(self) -> None:
        """Start a daemon and wait until it receives."""
        env = {
            "EMAIL_PASSWORD": PASSWORD,
            "SSL_CERT_FILE": str(self._world.host.folder / "certificate.pem"),
        }
        started = running_daemon(self._home, config(self._world), env=env)
        self.running = await self._stack.enter_async_context(started)
        await self.running.until(
            lambda report: any(c.name == "email" and c.state == "ok" for c in report.channels)
        )

    async def kill_daemon(self) -> None:
        """``kill -9``, and a new one."""
        await self.running.kill()
        await self.begin()

    async def kill_host(self) -> None:
        """``kill -9`` of the channel's process."""
        for process in (await self.running.status()).processes:
            if process.name == HOST:
                os.kill(process.pid, signal.SIGKILL)

    async def kill_server(self) -> None:
        """``kill -9`` of the mail server, and a new one."""
        self._world.host.kill()
        self._world.host.start()


def answered(world: MailWorld) -> set[int]:
    """The numbers that the bot has answered.

    What may not have arrived stands again in the next answer, since SMTP cannot be asked.
    """
    texts = [str(mail.get_body(("plain",))) for _, mail in world.smtp.mails]
    return {int(number) for text in texts for number in re.findall(r"number \W*(\d+)", text)}


async def test_no_mail_is_lost_whatever_is_killed(tmp_path: Path) -> None:
    """The daemon, its channel's process, which is in a jail, and the mail server die in turn."""
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(mail_world())
        life = await stack.enter_async_context(daemons(tmp_path, world))
        (process,) = [
            found for found in (await life.running.status()).processes if found.name == HOST
        ]
        assert process.sandbox == "full"
        victims = [life.kill_daemon, life.kill_host, life.kill_server]
        for number in range(1, MESSAGES + 1):
            mail = world.written(world.private, "", References="<begin@people.example>")
            mail.set_content(f"<p>number <b>{number}</b>", subtype="html")
            world.deliver(mail)
            if number % 2 == 0:
                await victims[(number // 2 - 1) % len(victims)]()
        with time_limit():
            while len(answered(world)) < MESSAGES:
                with anyio.move_on_after(1):
                    await life.running.logged("turn_replied", 10**6)
    assert answered(world) == {*range(1, MESSAGES + 1)}
