"""Find and stop the daemon of a home, from another process."""

import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.journal.opening import describe_failure
from orchestrator.settings import Settings
from orchestrator.system.homelock import read_pid_namespace
from orchestrator.system.installed_units import Scope

CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED
PROCESSES = Path("/proc")
PAUSE = 0.1  # seconds between two looks at the lock
SYSTEMD_SECONDS = 10.0  # seconds for systemd to answer


@dataclass(frozen=True)
class Unit:
    """A systemd service; ``restarts`` says that it restarts the daemon after an orderly end."""

    name: str
    scope: Scope
    restarts: bool

    @property
    def manager_option(self) -> tuple[str, ...]:
        """The option with which systemd's programs find the service."""
        return ("--user",) if self.scope == "user" else ()


def find_daemon_pid(settings: Settings) -> int:
    """Return the pid of the process that listens on the control socket, even if it hangs.

    Without a listener, return the process that is starting, ending or standing by. Return 0 if it
    has no number here, as in a container of its own (PID namespace).

    Raises:
        NotRunningError: no daemon runs.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(settings.paths.control_socket))
        except OSError as error:
            if _is_locked(settings.paths.lock):
                with suppress(OSError, ValueError):
                    pid, _, namespace = settings.paths.lock.read_text("ascii").partition(" ")
                    return int(pid) if namespace.strip() in ("", read_pid_namespace()) else 0
            raise NotRunningError(describe_absence(settings)) from error
        found = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    pid, _, _ = CREDENTIALS.unpack(found)
    return int(pid)


def describe_absence(settings: Settings) -> str:
    """Explain why no daemon answers on a home; the journal may be another daemon's."""
    if not _is_locked(settings.paths.lock):
        failure = describe_failure(settings.journal)
        if failure is not None:
            return f"no daemon runs on {settings.home}; the last one ended: {failure}"
        return f"no daemon runs on {settings.home}; start one with 'orchestrator run'"
    if settings.store is None:
        return f"the daemon on {settings.home} is just starting or ending; try again"
    return (
        f"the daemon on {settings.home} stands by while another one has the journal in"
        f" {settings.journal}, or is just starting or ending; its log says which"
    )


def wait_for_end(settings: Settings, seconds: float) -> bool:
    """Return whether the daemon of a home, wherever it runs, ends within ``seconds``."""
    end = time.monotonic() + seconds
    while _is_locked(settings.paths.lock) and time.monotonic() < end:
        time.sleep(PAUSE)
    return not _is_locked(settings.paths.lock)


def terminate_process(pid: int, seconds: float) -> bool | None:
    """Ask a process to end; return whether it did within ``seconds``.

    Return None if it cannot be asked from here: the kernel or a container does not allow that.
    """
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:
        return None
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGTERM)
        ended = select.poll()
        ended.register(process, select.POLLIN)
        return bool(ended.poll(seconds * 1000))
    except OSError:
        return None
    finally:
        os.close(process)


def require_not_restarted(pid: int, processes: Path = PROCESSES) -> None:
    """Require that systemd would not restart the process.

    Raises:
        OrchestratorError: systemd would start it again; the message says what stops it.
    """
    unit = find_unit(pid, processes)
    if unit is not None and unit.restarts:
        command = " ".join(("systemctl", *unit.manager_option, "stop", unit.name))
        raise OrchestratorError(
            f"systemd would start the daemon of {unit.name} again; stop it with: {command}"
        )


def find_unit(pid: int, processes: Path = PROCESSES) -> Unit | None:
    """Return the service whose main process this is; None if started by hand."""
    try:
        group = Path(f"{processes}/{pid}/cgroup").read_text("utf-8").strip().rpartition(":")[2]
    except OSError:
        return None
    parts = [part for part in group.split("/") if part.endswith(".service")]
    if not parts:
        return None
    scope: Scope = "user" if len(parts) > 1 else "system"  # below user@1000.service
    unit = Unit(parts[-1], scope, restarts=False)
    facts = _read_properties(unit)
    if facts.get("MainPID") != str(pid):  # a terminal may be a service, too
        return None
    return Unit(unit.name, scope, restarts=facts.get("Restart") in ("always", "on-success"))


def _read_properties(unit: Unit) -> dict[str, str]:
    command = ("systemctl", *unit.manager_option, "show", unit.name, "-p", "MainPID,Restart")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SYSTEMD_SECONDS, check=False
        )
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
