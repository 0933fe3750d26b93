"""List the program's files, and check that a hardened unit can see them."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from orchestrator.errors import ConfigError
from orchestrator.system.installed_units import Scope

PACKAGES = ("orchestrator", "thinker")
HOMES = ("/home", "/root", "/run/user")  # systemd.exec(5), ProtectHome=
SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - systemd.exec(5), PrivateTmp=
HIDDEN: Mapping[Scope, tuple[str, ...]] = {"system": (*HOMES, *SCRATCH), "user": SCRATCH}
ADVICE: Mapping[Scope, str] = {
    "system": "install the program below /opt with the system's Python"
    " (sudo PYTHON=/usr/bin/python3 scripts/install), or install a user service",
    "user": "clone the repository into your home directory, such as ~/orchestrator, and run"
    " scripts/install there",
}


def iter_needed_paths(executable: str = sys.executable) -> Iterator[tuple[str, Path]]:
    """Yield the paths that the daemon reads, with names: Python and its own code."""
    path = Path(executable)
    yield "the program", path
    while path.is_symlink():
        path = path.parent / path.readlink()
        yield "the Python of the program", path
    yield "the Python installation", Path(sys.base_prefix)
    for spec in map(find_spec, PACKAGES):  # an editable install has them anywhere
        if spec is not None and spec.origin is not None:
            yield "the code that it imports", Path(spec.origin).parent
    for entry in filter(os.path.exists, sys.path):
        yield "the code that it imports", Path(entry)


def require_visible(scope: Scope, paths: Iterable[tuple[str, Path]]) -> None:
    """Require that a hardened unit can see the program's files.

    Raises:
        ConfigError: a file lies in a folder hidden from the unit.
    """
    for name, path in paths:
        found = path.parent.resolve() / path.name
        for top in HIDDEN[scope]:
            if path.is_relative_to(top) or found.is_relative_to(top):
                raise ConfigError(
                    f"{name} is in {top} ({found}), which a {scope} service cannot see;"
                    f" {ADVICE[scope]}"
                )
