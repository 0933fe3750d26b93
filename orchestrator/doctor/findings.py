"""What ``orchestrator doctor`` found; its JSON has these names."""

from typing import Literal, TypeAlias

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import ConfigProblem, ProcessReport
from thinker.protocol.sandbox import SandboxLevel

Verdict: TypeAlias = Literal["ok", "warning", "problem"]


class Finding(CamelModel):
    """One thing that was looked at; ``text`` says what to do about it unless it is ok."""

    subject: str
    verdict: Verdict
    text: str


class DoctorFindings(CamelModel):
    """What a running daemon found out about itself."""

    findings: tuple[Finding, ...]


class JailFinding(CamelModel):
    """What a process reached from inside one kind of jail.

    ``reached`` are the attempts that succeeded, of ``attempts``; those in ``unexpected`` are not
    open by design.
    """

    jail: str
    sandbox: SandboxLevel
    reason: str
    attempts: int
    reached: tuple[str, ...]
    unexpected: tuple[str, ...]


class DoctorReport(CamelModel):
    """Everything; ``healthy`` unless there is a problem."""

    healthy: bool
    home: str
    running: bool
    findings: tuple[Finding, ...]
    jails: tuple[JailFinding, ...]
    processes: tuple[ProcessReport, ...] = ()
    config_problems: tuple[ConfigProblem, ...] = ()
