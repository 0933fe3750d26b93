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
    ' (the boot parameter lsm= names landlock); or set "sandbox" to "auto" in agents.json'
)


def require(mode: SandboxMode, report: SandboxReport) -> None:
    """Raise `WorkerError` if a worker's jail is less than required."""
    if mode == "required" and report.level != "full":
        raise WorkerError(f"{_problem(report)}; {ADVICE}", EXIT_CONFIG)


async def require_at_start(mode: SandboxMode) -> None:
    """Try the jail in a process of its own, if it is required.

    Raises:
        ConfigError: it is less than required.
    """
    if mode != "required":
        return
    report = await probed()
    if report.level != "full":
        raise ConfigError(f"{_problem(report)}; {ADVICE}")


async def probed() -> SandboxReport:
    """Jail a process as a worker is, and return what it found."""
    try:
        ended = await anyio.run_process(PROBE, stderr=subprocess.DEVNULL)
        return read_report(ended.stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return SandboxReport("off", f"the jail cannot be tried: {error}")


def _problem(report: SandboxReport) -> str:
    return f'"sandbox" is "required", but the jail is {report.level} ({report.reason})'
