"""Everybody installs little: what single extensions need comes with their extras."""

import ast
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from fakes.small_environment import EXTRAS, PROJECT, ROOT, bring
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from orchestrator.agentsfile.channel_kinds import load_channel_kinds

EXTENSIONS = ROOT / "orchestrator" / "extensions"
MOST = 20  # dependencies of everybody
OPTIONAL = {"sniffio", "pytest"}  # used where it is there; loaded by orchestrator.testing alone
PACKAGES = ("orchestrator", "thinker")
OWN = {*PACKAGES, *sys.stdlib_module_names}


@cache
def distributions() -> dict[str, set[str]]:
    """The distributions of each top-level module that is installed."""
    found = metadata.packages_distributions()
    return {module: {*map(canonicalize_name, names)} for module, names in found.items()}


def modules(requirements: Iterable[str]) -> set[str]:
    """The top-level modules of all that these requirements install."""
    there = frozenset().union(*map(bring, requirements))
    return {module for module, found in distributions().items() if found & there}


@cache
def imports() -> frozenset[tuple[Path, str]]:
    """Each file of the program with a foreign module that it imports."""
    found = set[tuple[Path, str]]()
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {(path, name.partition(".")[0]) for name in names}
    return frozenset((path, name) for path, name in found if name not in OWN)


def imports_of(extension: str) -> set[str]:
    """The foreign modules of one extension."""
    return {name for path, name in imports() if path.is_relative_to(EXTENSIONS / extension)}


def test_installation_is_small() -> None:
    """And a reason stands beside each dependency."""
    assert len(PROJECT["dependencies"]) <= MOST
    lines = (ROOT / "pyproject.toml").read_text("utf-8").partition("\ndependencies = [")[2]
    listed = [line for line in lines.partition("\n]")[0].splitlines() if line.strip()]
    assert len(listed) == len(PROJECT["dependencies"])
    assert [line for line in listed if not re.search(r'", +# \w.{20}', line)] == []


def test_everything_but_the_extras_imports_what_everybody_has() -> None:
    """A library that another one brings stays for as long as that one brings it."""
    there = modules(PROJECT["dependencies"]) | OPTIONAL
    folders = [EXTENSIONS / name for name in EXTRAS]
    lacking = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, name in imports()
        if name not in there and not any(path.is_relative_to(folder) for folder in folders)
    }
    assert lacking == set()


@pytest.mark.parametrize(
    "extra", sorted({*EXTRAS} - {"search", "cluster", "all", "local", "meaning"})
)
def test_extension_imports_what_its_extra_brings(extra: str) -> None:
    """Beside what everybody has; the extra has the extension's name."""
    there = modules((*PROJECT["dependencies"], *EXTRAS[extra]))
    assert imports_of(extra) <= there


@pytest.mark.parametrize("name", sorted(load_channel_kinds()))
def test_channel_names_the_libraries_of_its_extra(name: str) -> None:
    """So that a missing one is told before its process starts."""
    kind, usual = load_channel_kinds()[name], modules(PROJECT["dependencies"])
    own = imports_of(name) - usual
    assert {*kind.requires} <= own
    brought = set[str]()
    for module in kind.requires:
        brought |= modules(distributions()[module])
    assert own <= brought
    assert kind.extra == (name if own else "")


def test_all_has_every_extra() -> None:
    """It is what the tests install."""
    (everything,) = EXTRAS["all"]
    assert Requirement(everything).extras == {*EXTRAS} - {"all", "cluster", "local", "meaning"}
    assert bring(EXTRAS["cluster"][0]) == bring(f"{PROJECT['name']}[postgresql]")
