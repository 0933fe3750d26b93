"""How well a process is walled off from others, as it found out itself."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
