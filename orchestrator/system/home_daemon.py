"""The daemon that runs on a home, as another process sees it: its number, its unit, its end."""

import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.settings import Settings
from orchestrator.system.installed_units import Scope

CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED
PROCESSES = Path("/proc")
ASKED = 10.0  # seconds for systemd to answer


@dataclass(frozen=True)
class Unit:
    """A systemd service. ``restarts``: it starts the daemon again after an orderly end."""

    name: str
    scope: Scope
    restarts: bool

    @property
    def manager(self) -> tuple[str, ...]:
        """The option that programs of systemd need to find it."""
        return ("--user",) if self.scope == "user" else ()


def daemon_pid(settings: Settings) -> int:
    """Return the process that listens on the home's control socket, even if it hangs.

    Without a listener it is the one that starts, ends or stands by, if there is one.

    Raises:
        NotRunningError: no daemon runs.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(settings.paths.control_socket))
        except OSError as error:
            if _is_locked(settings.paths.lock):
                with suppress(OSError, ValueError):
                    return int(settings.paths.lock.read_text("ascii"))
            raise NotRunningError(not_listening(settings)) from error
        found = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    pid, _, _ = CREDENTIALS.unpack(found)
    return int(pid)


def not_listening(settings: Settings) -> str:
    """Say why no daemon answers on a home; a journal on a server may be another daemon's."""
    if not _is_locked(settings.paths.lock):
        return f"no daemon runs on {settings.home}; start one with 'orchestrator run'"
    if settings.store is None:
        return f"the daemon on {settings.home} is just starting or ending; try again"
    return (
        f"the daemon on {settings.home} stands by while another one has the journal in"
        f" {settings.journal}, or is just starting or ending; its log says which"
    )


def terminate(pid: int, seconds: float) -> bool:
    """Ask a process to end in order; return whether it did within this time."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGTERM)
        ended = select.poll()
        ended.register(process, select.POLLIN)
        return bool(ended.poll(seconds * 1000))
    finally:
        os.close(process)


def refuse_restarted(pid: int, processes: Path = PROCESSES) -> None:
    """Refuse to end a process that would come back.

    Raises:
        OrchestratorError: systemd would start it again; the message says what stops it.
    """
    unit = unit_of(pid, processes)
    if unit is not None and unit.restarts:
        command = " ".join(("systemctl", *unit.manager, "stop", unit.name))
        raise OrchestratorError(
            f"systemd would start the daemon of {unit.name} again; stop it with: {command}"
        )


def unit_of(pid: int, processes: Path = PROCESSES) -> Unit | None:
    """Return the service whose main process this is; None for one that was started by hand."""
    try:
        group = Path(f"{processes}/{pid}/cgroup").read_text("utf-8").strip().rpartition(":")[2]
    except OSError:
        return None
    parts = [part for part in group.split("/") if part.endswith(".service")]
    if not parts:
        return None
    scope: Scope = "user" if len(parts) > 1 else "system"  # below user@1000.service
    unit = Unit(parts[-1], scope, restarts=False)
    facts = _properties(unit)
    if facts.get("MainPID") != str(pid):  # a terminal may be a service, too
        return None
    return Unit(unit.name, scope, restarts=facts.get("Restart") in ("always", "on-success"))


def _properties(unit: Unit) -> dict[str, str]:
    command = ("systemctl", *unit.manager, "show", unit.name, "-p", "MainPID,Restart")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASKED, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def _is_locked(path: Path) -> bool:
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
    return False
