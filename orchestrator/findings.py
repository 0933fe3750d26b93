"""The findings of `orchestrator doctor`, and the targets of its probes."""

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
    """The processes and paths that a probe tries to reach, keyed by name.

    ``own`` are the files and folders of the agent whose place the probe takes, ``config`` is the
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

    ``open_by_design`` has whole names of attempts, or names after the colon, which stand for all
    attempts that end in them.
    """

    name: str
    enter: Callable[[ProbeTargets], SandboxReport]
    open_by_design: frozenset[str] = frozenset()
