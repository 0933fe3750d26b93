"""How well a process is walled off from others, as it found out itself."""

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

SandboxLevel: TypeAlias = Literal["full", "no-landlock", "keys-only", "off"]


@dataclass(frozen=True)
class SandboxReport:
    """The level, and why it is no higher.

    ``full``: only what it needs is in reach. ``no-landlock``: it cannot make forbidden calls, but
    may read files of its user. ``keys-only``: no other process can read its memory or environment.
    ``off``: nothing of that.
    """

    level: SandboxLevel = "off"
    reason: str = ""


def read_report(text: str | bytes) -> SandboxReport:
    """Read a report from JSON; raise `ValueError` for anything else."""
    found = json.loads(text)
    if not isinstance(found, dict) or found.get("level") not in get_args(SandboxLevel):
        raise ValueError(f"no report of a jail: {text!r}")
    return SandboxReport(found["level"], str(found.get("reason", "")))
