"""What `orchestrator doctor` finds, and what it tries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from thinker.protocol.sandbox import SandboxReport

Verdict: TypeAlias = Literal["ok", "warning", "problem"]


class Finding(NamedTuple):
    """A line of `orchestrator doctor`."""

    subject: str
    text: str
    verdict: Verdict = "ok"


@dataclass(frozen=True)
class ProbeTargets:
    """What a probe tries to reach: processes and paths by name.

    ``own`` are the files and folders of the agent whose place it takes, ``config`` is the
    agents.json in use.
    """

    home: Path
    own: tuple[Path, ...] = ()
    pids: Mapping[str, int] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    config: str = ""


@dataclass(frozen=True)
class JailKind:
    """A kind of jail: how a process enters it, and what it leaves open by design.

    That is an attempt by its whole name, or by its name after the colon wherever it succeeds.
    """

    name: str
    enter: Callable[[ProbeTargets], SandboxReport]
    open_by_design: frozenset[str] = frozenset()
