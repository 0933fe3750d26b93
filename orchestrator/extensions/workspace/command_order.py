"""Orders to run a command, from the server to the process that jails the command."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

MIB = 1024 * 1024


@dataclass(frozen=True)
class CommandLimits:
    """The limits of one command and all that it starts; 0 processes means no limit."""

    seconds: int = 120
    memory: int = 1024 * MIB
    processes: int = 256
    file_size: int = 256 * MIB


@dataclass(frozen=True)
class CommandOrder:
    """One command and its jail. ``run`` may be read and executed, ``write`` changed as well.

    ``network`` allows internet sockets; with ``proxy``, a port of this machine, every connection is
    redirected there. ``jailed`` refuses to run without Landlock. ``stdin`` is an
    inherited descriptor; without one, standard input is empty.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    read: Sequence[str] = ()
    run: Sequence[str] = ()
    write: Sequence[str] = ()
    network: bool = False
    proxy: int = 0
    jailed: bool = True
    stdin: int = -1
    limits: CommandLimits = field(default_factory=CommandLimits)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "CommandOrder":
        values = json.loads(text)
        return cls(**{**values, "limits": CommandLimits(**values["limits"])})


@dataclass(frozen=True)
class CommandEnd:
    """How a command ended: ``code`` as a shell reports it, or ``problem`` if it was ended."""

    code: int = 0
    problem: str = ""
    refused: bool = False  # it did not run

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "CommandEnd":
        return cls(**json.loads(text))
