"""The degree to which a process is confined, as the process itself found out."""

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

SandboxLevel: TypeAlias = Literal["full", "no-landlock", "keys-only", "off"]


@dataclass(frozen=True)
class SandboxReport:
    """The level, and the reason why the level is no higher.

    ``full``: the process can reach only what it needs. ``no-landlock``: it cannot make forbidden
    calls, but can read files of its user. ``keys-only``: no other process can read its memory or
    environment. ``off``: none of these.
    """

    level: SandboxLevel = "off"
    reason: str = ""


def read_report(text: str | bytes) -> SandboxReport:
    """Read a report from JSON; raise `ValueError` for anything else."""
    found = json.loads(text)
    if not isinstance(found, dict) or found.get("level") not in get_args(SandboxLevel):
        raise ValueError(f"no report of a jail: {text!r}")
    return SandboxReport(found["level"], str(found.get("reason", "")))
