"""Describe the service's state in systemd in words."""

import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.service.service_host import ServiceHost
from orchestrator.extensions.service.service_steps import run_command
from orchestrator.system.installed_units import UNIT

PROPERTIES = (
    "ActiveState",
    "ActiveEnterTimestamp",
    "UnitFileState",
    "MainPID",
    "NRestarts",
    "StatusText",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecMainExitTimestamp",
    "NeedDaemonReload",
)
LAST_LINES = 3
EXITED, KILLED, DUMPED = "1", "2", "3"  # CLD_* of waitid(2)
STATES = {
    "inactive": "not running",
    "activating": "starting, or about to be started again",
    "deactivating": "stopping",
}
RESULTS = {
    "watchdog": "it stopped answering, and the watchdog ended it",
    "timeout": "its start or stop took too long, and systemd ended it",
    "oom-kill": "the machine or the unit (MemoryMax=) ran out of memory",
    "start-limit-hit": "it failed too often in a short time, so systemd gave up",
    "resources": "systemd lacked something to start it",
}
EXITS = {
    int(ExitCode.OK): "it ended in order",
    int(ExitCode.FAILED): "it failed; the log has the reason",
    int(ExitCode.IO): "the journal cannot be opened or written; the log has the file",
    int(ExitCode.ALREADY_RUNNING): "another daemon runs on its home",
    int(ExitCode.CONFIG): (
        "agents.json, a setting or the home cannot be used, so it is not started again; the log has"
        " the reason"
    ),
    200: "systemd could not enter its working directory",
    203: "the program in ExecStart= cannot be run; install the service again",
    217: "its user does not exist; install the service again",
    226: "systemd could not make its namespaces, or a path of the unit is missing",
    238: "systemd could not prepare its state directory",
    243: "systemd could not pass it its credentials (LoadCredential=)",
}  # those from 200 on are from systemd.exec(5)


@dataclass(frozen=True)
class ServiceState:
    """The state of a service; ``facts`` are lines to show, keyed by name."""

    running: bool
    facts: Mapping[str, str]


def query_service_state(host: ServiceHost) -> ServiceState:
    """Query systemd for the state of the service.

    Raises:
        ConfigError: the service manager does not answer.
    """
    wanted = f"--property={','.join(PROPERTIES)}"
    done = run_command(host.build_systemctl_command("show", wanted, UNIT))
    if done.returncode:
        hint = (
            "; log in as that user, or set XDG_RUNTIME_DIR=/run/user/$(id -u)"
            if host.scope == "user"
            else ""
        )
        raise ConfigError(f"systemctl: {done.stderr.strip() or 'it failed'}{hint}")
    lines = (line.partition("=") for line in done.stdout.splitlines())
    state = describe_properties({name: value.strip() for name, _, value in lines})
    words = "" if state.running else read_last_lines(host)
    return replace(state, facts={**state.facts, "it said": words}) if words else state


def read_last_lines(host: ServiceHost) -> str:
    """Return the daemon's own last lines, if this user may read the log."""
    own = "_SYSTEMD_USER_UNIT" if host.scope == "user" else "_SYSTEMD_UNIT"
    with suppress(ConfigError):
        done = run_command(
            ("journalctl", "--quiet", f"--lines={LAST_LINES}", "--output=cat", f"{own}={UNIT}")
        )
        return "\n".join(line.strip() for line in done.stdout.splitlines() if line.strip())
    return ""


def describe_properties(found: Mapping[str, str]) -> ServiceState:
    """Describe the unit's properties in words."""
    known = {name: found.get(name, "") for name in PROPERTIES}
    state = known["ActiveState"] or "unknown"
    running, state = state == "active", STATES.get(state, state)
    if running:
        state = f"running since {known['ActiveEnterTimestamp']}, process {known['MainPID']}"
        state += f" ({known['StatusText']})" if known["StatusText"] else ""
    facts = {"enabled": _describe_enabled(known["UnitFileState"]), "state": state}
    if known["NRestarts"] not in ("", "0"):
        facts["restarts"] = f"{known['NRestarts']} since it was started"
    if reason := describe_last_end(known):
        facts["last end"] = f"{known['ExecMainExitTimestamp']}: {reason}".removeprefix(": ")
    if known["NeedDaemonReload"] == "yes":
        facts["note"] = "the unit changed on disk; run systemctl daemon-reload"
    return ServiceState(running, facts)


def describe_last_end(found: Mapping[str, str]) -> str:
    """Return the reason why the service last ended; empty if it never did."""
    code, status = found["ExecMainCode"], found["ExecMainStatus"]
    result = RESULTS.get(found["Result"], "")
    if code == EXITED and status.isdigit():
        number = int(status)
        how = f"{EXITS.get(number, 'it failed; the log has the reason')} (exit code {number})"
    elif code in (KILLED, DUMPED) and status.isdigit():
        how = f"it was killed ({_format_signal(int(status))})"
    else:
        how = ""
    return "; ".join(filter(None, (result, how)))


def _describe_enabled(state: str) -> str:
    if state.startswith("enabled"):
        return "yes, it starts by itself"
    return f"no ({state or 'unknown'})"


def _format_signal(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
