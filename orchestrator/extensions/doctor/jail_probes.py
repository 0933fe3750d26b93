"""Jail a process like each kind of daemon process, and try what it can reach."""

import json
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from orchestrator.control.camel_model import CamelModel
from orchestrator.extensions.doctor.reach import try_attempts
from orchestrator.findings import JailKind, ProbeTargets
from orchestrator.installed import find_installed
from orchestrator.processes.journal_jail import confine_to_journal
from thinker.jail import worker_jail
from thinker.jail.hardening import harden_process
from thinker.protocol.sandbox import SandboxLevel, SandboxReport, read_report

NETWORK = frozenset({"TCP"})
# The daemon refuses connections from its own processes.
LOCAL = frozenset({"socket", "control socket: connect"})
SHOWN = frozenset({"journal: read"})  # on the page


class JailFinding(CamelModel):
    """The result of the probes from inside one kind of jail.

    ``reached`` lists the successful ones of ``attempts``; ``unexpected`` those not open by design.
    """

    jail: str
    sandbox: SandboxLevel
    reason: str
    attempts: int
    reached: tuple[str, ...]
    unexpected: tuple[str, ...]


def _enter_worker_jail(targets: ProbeTargets) -> SandboxReport:
    return worker_jail.prepare_jail().close_jail(targets.own, targets.home).report


def _enter_networked_worker_jail(targets: ProbeTargets) -> SandboxReport:
    return worker_jail.prepare_jail(network=True).close_jail(targets.own, targets.home).report


def _enter_broker_jail(targets: ProbeTargets) -> SandboxReport:
    prepared = worker_jail.prepare_jail(network=True, unix=True, files=None)
    return prepared.close_jail((), targets.home).report


def _enter_channel_host_jail(targets: ProbeTargets) -> SandboxReport:
    return worker_jail.prepare_jail(network=True, files=None).close_jail((), targets.home).report


def _enter_page_jail(targets: ProbeTargets) -> SandboxReport:
    return confine_to_journal(targets.paths.get("journal", targets.home / "journal.db"))


def list_jail_kinds() -> tuple[JailKind, ...]:
    """Return all kinds of jails; the page's only if the page is installed."""
    found = find_installed().own
    kinds = [
        JailKind("worker", _enter_worker_jail),
        JailKind("worker with hookNetwork", _enter_networked_worker_jail, NETWORK),
        JailKind("broker", _enter_broker_jail, NETWORK | LOCAL),
        JailKind("channel host", _enter_channel_host_jail, NETWORK),
    ]
    if "page" in found:
        kinds.append(JailKind("page", _enter_page_jail, SHOWN))
    for extension in found.values():
        kinds += extension.list_jail_kinds()
    return tuple(kinds)


@contextmanager
def fork_stand_in() -> Iterator[int]:
    """Fork a process hardened like the daemon, for probes without a daemon."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        try:
            harden_process()
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


def probe_jails(targets: ProbeTargets, wanted: Iterable[JailKind]) -> tuple[JailFinding, ...]:
    return tuple(probe_jail_kind(kind, targets) for kind in wanted)


def probe_jail_kind(kind: JailKind, targets: ProbeTargets) -> JailFinding:
    """Fork a process, jail it, and return what it reached."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run_probe(kind, targets, writer)
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


def _run_probe(kind: JailKind, targets: ProbeTargets, writer: int) -> None:
    """Run the probe; never return."""
    try:
        with suppress(OSError):
            os.chdir(targets.home)
        report = kind.enter(targets)
        found = try_attempts(targets.pids, targets.paths)
        os.write(writer, json.dumps({"report": asdict(report), "found": found}).encode())
    finally:
        os._exit(0)
