"""Refuse to run without the jail that agents.json requires."""

import subprocess
import sys

import anyio

from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.errors import ConfigError, WorkerError
from orchestrator.processes.restarts import EXIT_CONFIG
from thinker.protocol.sandbox import SandboxReport, read_report

PROBE = (sys.executable, "-P", "-m", "thinker.jail")
ADVICE = (
    "it needs Linux 5.13 or newer on x86-64 or arm64, with Landlock and seccomp switched on"
    ' (in the boot parameter lsm=); or set "sandbox" to "auto" in agents.json'
)


def require_jail(mode: SandboxMode, report: SandboxReport) -> None:
    """Raise `WorkerError` if a worker's jail is less than required."""
    if mode == "required" and report.level != "full":
        raise WorkerError(f"{_describe_lack(report)}; {ADVICE}", EXIT_CONFIG)


async def require_jail_at_start(mode: SandboxMode) -> None:
    """Try the jail in a separate process, if it is required.

    Raises:
        ConfigError: the jail is less than required.
    """
    if mode != "required":
        return
    report = await probe_jail()
    if report.level != "full":
        raise ConfigError(f"{_describe_lack(report)}; {ADVICE}")


async def probe_jail() -> SandboxReport:
    """Jail a process like a worker, and return the result."""
    try:
        ended = await anyio.run_process(PROBE, stderr=subprocess.DEVNULL)
        return read_report(ended.stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return SandboxReport("off", f"the jail cannot be tried: {error}")


def _describe_lack(report: SandboxReport) -> str:
    return f'"sandbox" is "required", but the jail is {report.level} ({report.reason})'
