"""The systemd units of this program on this machine, and the homes that they serve."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

Scope: TypeAlias = Literal["user", "system"]

UNIT = "orchestrator.service"
STATE = "/var/lib"  # %S of a system unit, systemd.unit(5)
SYSTEM_HOME = Path(STATE, "orchestrator")
_SETTING = re.compile(
    r"^(?:Environment=\"?(?P<name>ORCHESTRATOR_HOME)=|User=)(?P<value>[^\"\n]+)", re.MULTILINE
)


class InstalledUnit(NamedTuple):
    """A unit's file, the home of its daemon, and the user as whom it runs; "" for this user."""

    scope: Scope
    path: Path
    home: Path
    user: str = ""


def path_of(scope: Scope, root: Path) -> Path:
    """Return the file of a unit; ``root`` is the user's home directory, or ``/``."""
    folder = ".config/systemd/user" if scope == "user" else "etc/systemd/system"
    return root / folder / UNIT


def installed(person: Path, root: Path = Path("/")) -> Iterator[InstalledUnit]:
    """Yield the units that are installed: that of the user in ``person``, and the machine's."""
    roots: tuple[tuple[Scope, Path], ...] = (("user", person), ("system", root))
    for scope, base in roots:
        path = path_of(scope, base)
        with suppress(OSError, UnicodeError):
            yield _parsed(scope, path, path.read_text("utf-8"), person)


def _parsed(scope: Scope, path: Path, text: str, person: Path) -> InstalledUnit:
    found = {match["name"] or "User": match["value"] for match in _SETTING.finditer(text)}
    default = str(SYSTEM_HOME if scope == "system" else person / ".orchestrator")
    home = found.get("ORCHESTRATOR_HOME", default)
    home = home.replace("%S", STATE) if scope == "system" else home.replace("%h", str(person))
    return InstalledUnit(
        scope, path, Path(home), found.get("User", "") if scope == "system" else ""
    )
