"""A program in a network of its own, as a container's: this machine is another host to it."""

import os
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL

import anyio
from anyio.abc import Process

HOST = "host.docker.internal"  # by which a container calls the machine that it runs on
# Addresses of this machine and of the program, which no other process takes.
NUMBER = os.getpid() % (254 * 64)
NEAR, FAR = (f"169.254.{1 + NUMBER // 64}.{NUMBER % 64 * 4 + end}" for end in (1, 2))
# It waits until its network is there; its names of hosts are its own.
BEGIN = 'mount --bind "$0" /etc/hosts && echo begun && read -r _ && exec "$@"'


def possible() -> bool:
    """Return whether this process may make networks."""
    return os.geteuid() == 0


def command(program: Sequence[str], hosts: Path) -> list[str]:
    """Return the command that starts a program without any network; `join` gives it one.

    ``hosts`` is written: it is the program's /etc/hosts.
    """
    hosts.write_text(f"127.0.0.1 localhost\n{NEAR} {HOST}\n", "utf-8")
    return ["unshare", "--net", "--mount", "sh", "-c", BEGIN, str(hosts), *program]


async def join(process: Process) -> None:
    """Connect the started command with this machine alone; the network ends with the program."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the program has no pipes")
    await process.stdout.receive()  # it has begun
    pid, link = str(process.pid), f"orc{process.pid}"
    inside = ("nsenter", "--net", "--target", pid)
    for step in (
        ("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", pid),
        ("ip", "address", "add", f"{NEAR}/30", "dev", link),
        ("ip", "link", "set", link, "up"),
        (*inside, "ip", "link", "set", "lo", "up"),
        (*inside, "ip", "address", "add", f"{FAR}/30", "dev", "eth0"),
        (*inside, "ip", "link", "set", "eth0", "up"),
    ):
        await anyio.run_process(step, stdout=DEVNULL)
    await process.stdin.send(b"\n")
