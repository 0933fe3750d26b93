"""Find this program's systemd units on this machine, and the homes that they serve."""

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
    """A unit's file, its daemon's home, and its user; "" for this user."""

    scope: Scope
    path: Path
    home: Path
    user: str = ""


def find_unit_path(scope: Scope, root: Path) -> Path:
    """Return the file of a unit; ``root`` is the user's home directory, or ``/``."""
    folder = ".config/systemd/user" if scope == "user" else "etc/systemd/system"
    return root / folder / UNIT


def list_installed_units(person: Path, root: Path = Path("/")) -> Iterator[InstalledUnit]:
    """Yield the installed units of the user in ``person`` and of the machine."""
    roots: tuple[tuple[Scope, Path], ...] = (("user", person), ("system", root))
    for scope, base in roots:
        path = find_unit_path(scope, base)
        with suppress(OSError, UnicodeError):
            yield _parse_unit(scope, path, path.read_text("utf-8"), person)


def _parse_unit(scope: Scope, path: Path, text: str, person: Path) -> InstalledUnit:
    found = {match["name"] or "User": match["value"] for match in _SETTING.finditer(text)}
    default = str(SYSTEM_HOME if scope == "system" else person / ".orchestrator")
    home = found.get("ORCHESTRATOR_HOME", default)
    home = home.replace("%S", STATE) if scope == "system" else home.replace("%h", str(person))
    return InstalledUnit(
        scope, path, Path(home), found.get("User", "") if scope == "system" else ""
    )
