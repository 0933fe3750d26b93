"""Jail a process as each kind of process of the daemon is, and see what it reaches from inside."""

import json
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from orchestrator.doctor.findings import JailFinding
from orchestrator.jailer.answered_calls import AnsweredCalls
from orchestrator.processes.page_jail import confine
from orchestrator.toolhost.jail import enter, enter_host
from orchestrator.toolhost.jail_order import JailOrder, Surroundings
from thinker.jail import worker_jail
from thinker.jail.hardening import harden
from thinker.jail.reach import reached
from thinker.protocol.sandbox import SandboxReport, read_report

NETWORK = frozenset({"TCP"})
# The daemon refuses each of its own processes that connects.
LOCAL = frozenset({"socket", "control socket: connect"})
PROGRAMS = frozenset({"fork", "exec", "unshare"})
SHOWN = frozenset({"journal: read"})  # on the page
MODES = frozenset({"mode"})  # of any file, which Landlock does not look at


@dataclass(frozen=True)
class ProbeTargets:
    """What a probe tries to reach: processes and paths by name.

    ``own`` are the files and folders of the agent whose place it takes, ``config`` is the
    agents.json in use.
    """

    home: Path
    own: tuple[Path, ...] = ()
    pids: Mapping[str, int] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    config: str = ""


@dataclass(frozen=True)
class JailKind:
    """A kind of jail: how a process enters it, and what it leaves open by design.

    That is an attempt by its whole name, or by its name after the colon wherever it succeeds.
    """

    name: str
    enter: Callable[[ProbeTargets], SandboxReport]
    open_by_design: frozenset[str] = frozenset()


def _worker(targets: ProbeTargets) -> SandboxReport:
    return worker_jail.prepare().close(targets.own, targets.home).report


def _worker_with_network(targets: ProbeTargets) -> SandboxReport:
    return worker_jail.prepare(network=True).close(targets.own, targets.home).report


def _broker(targets: ProbeTargets) -> SandboxReport:
    prepared = worker_jail.prepare(network=True, unix=True, files=None)
    return prepared.close((), targets.home).report


def _channel_host(targets: ProbeTargets) -> SandboxReport:
    return worker_jail.prepare(network=True, files=None).close((), targets.home).report


def _page(targets: ProbeTargets) -> SandboxReport:
    return confine(targets.paths.get("journal", targets.home / "journal.db"))


def _tool_host(targets: ProbeTargets) -> SandboxReport:
    harden()
    around = Surroundings.of(str(targets.home), os.environ, targets.config)
    return enter_host(around, targets.pids["supervisor"])


def _mcp_server(targets: ProbeTargets) -> SandboxReport:
    """Be a server without a ``sandbox`` of its own in agents.json."""
    around = Surroundings.of(str(targets.home), os.environ, targets.config)
    order = JailOrder(
        around=around,
        private=str(targets.home / "servers" / "none"),
        supervisor=targets.pids["supervisor"],
        command=sys.executable,
    )
    harden()
    enter_host(around, order.supervisor)
    calls = AnsweredCalls((), ownership=True)
    calls.start()  # a thread that begins before the jail is outside of it, as the guardian is
    return enter(order, calls.inside)


def kinds() -> tuple[JailKind, ...]:
    """Return all kinds of jails."""
    return (
        JailKind("worker", _worker),
        JailKind("worker with hookNetwork", _worker_with_network, NETWORK),
        JailKind("broker", _broker, NETWORK | LOCAL),
        JailKind("channel host", _channel_host, NETWORK),
        JailKind("page", _page, SHOWN),
        JailKind("tool host", _tool_host, NETWORK | LOCAL | PROGRAMS | MODES),
        JailKind("MCP server", _mcp_server, NETWORK | PROGRAMS),
    )


@contextmanager
def stand_in() -> Iterator[int]:
    """Fork a process that is hardened as the daemon is, for probes without a daemon."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        try:
            harden()
            theirs.send(b".")
            theirs.recv(1)
        finally:
            os._exit(0)
    theirs.close()
    try:
        ours.recv(1)
        yield pid
    finally:
        ours.close()
        os.waitpid(pid, 0)


def probe_all(targets: ProbeTargets, wanted: Iterable[JailKind]) -> tuple[JailFinding, ...]:
    return tuple(probe(kind, targets) for kind in wanted)


def probe(kind: JailKind, targets: ProbeTargets) -> JailFinding:
    """Fork a process, jail it, and return what it reached."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run(kind, targets, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    try:
        parts = json.loads(text)
        report, found = read_report(json.dumps(parts["report"])), parts["found"]
    except (ValueError, KeyError):
        report, found = SandboxReport("off", "the probe ended before it could report"), []
    success = tuple(name for name, done in found if done)
    return JailFinding(
        jail=kind.name,
        sandbox=report.level,
        reason=report.reason,
        attempts=len(found),
        reached=success,
        unexpected=tuple(
            name for name in success if not {name, name.rpartition(": ")[2]} & kind.open_by_design
        ),
    )


def _run(kind: JailKind, targets: ProbeTargets, writer: int) -> None:
    """Be the probe; never return."""
    try:
        with suppress(OSError):
            os.chdir(targets.home)
        report = kind.enter(targets)
        found = reached(targets.pids, targets.paths)
        os.write(writer, json.dumps({"report": asdict(report), "found": found}).encode())
    finally:
        os._exit(0)
