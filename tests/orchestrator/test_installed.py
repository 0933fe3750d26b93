"""Extensions of other distributions are loaded, or left out with a reason."""

import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator import installed
from orchestrator.extension import Extension, Finding


class Owl(Extension):
    """Uses a hook, and has a method of its own."""

    def list_findings(self, *_: object) -> Iterable[Finding]:
        return (self._find(),)

    def _find(self) -> Finding:
        return Finding("owl", "sees in the dark")


class BlindOwl(Owl):
    """Misspells a hook."""

    def list_comands(self) -> dict[str, str]:
        return {}


def load_owl(monkeypatch: pytest.MonkeyPatch, kind: object) -> installed.InstalledExtensions:
    """Return what is found if an entry point names a class as the extension `owl`."""
    monkeypatch.setitem(sys.modules, "forest", SimpleNamespace(Kind=kind))
    point = EntryPoint("owl", "forest:Kind", installed.GROUP)
    monkeypatch.setattr(installed, "_list_entry_points", lambda: (point,))
    return installed.find_installed.__wrapped__()


def test_extension_is_called_as_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Private methods and overridden ones are no fault."""
    found = load_owl(monkeypatch, Owl)
    assert (found.foreign["owl"].name, dict(found.broken)) == ("owl", {})


def quit_at_once() -> None:
    """Raise what would end the command."""
    raise SystemExit("no tree")


class Eagle(Owl):
    """Has another name than its entry point."""

    name = "eagle"


class LostOwl(Owl):
    """Ends the process that loads it."""

    def __init__(self) -> None:
        quit_at_once()


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (BlindOwl, "forest:Kind defines 'list_comands', which orchestrator.extension.Extension"),
        (Eagle, "forest:Kind is called 'eagle', and its entry point 'owl'"),
        (LostOwl, "SystemExit: no tree"),
        (dict, "forest:Kind is not a subclass of orchestrator.extension.Extension"),
    ],
)
def test_unusable_class_is_left_out(
    kind: type, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason names the method, for nothing would ever call it."""
    found = load_owl(monkeypatch, kind)
    assert not found.foreign
    assert problem in found.broken["owl"]


CACHED = (installed._list_entry_points, installed.find_channels, installed.find_installed)


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules, and entry points of which each is wrong in its own way."""
    for name in ("leaver", "above"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    values = {
        "pidgin": "orchestrator_pidgin",
        "garbled": "no module!",
        "nowhere": "no_such_parent.child",
        "leaver": "leaver:Extension",
        "below": "above.child",
    }
    points = [EntryPoint(name, value, installed.GROUP) for name, value in values.items()]
    package = tmp_path / "orchestrator_pidgin"
    package.mkdir()
    (package / "channel.json").touch()
    monkeypatch.setattr(installed, "entry_points", lambda **_: points)
    for function in CACHED:
        function.cache_clear()
    yield package
    for function in CACHED:
        function.cache_clear()


def test_entry_point_that_cannot_be_read_costs_itself_alone(entries: Path) -> None:
    """A module that ends the program, a name that is none, and a parent that is missing."""
    found = installed.find_installed()
    assert found.channels == {"pidgin": entries}
    assert found.broken == {
        "garbled": "the package no module! has no channel.json",
        "nowhere": "the package no_such_parent.child has no channel.json",
        "below": "the package above.child has no channel.json",
        "leaver": "SystemExit: 3",
    }
    assert "orchestrator_pidgin" not in sys.modules


def test_channel_whose_package_is_gone_is_named(entries: Path) -> None:
    """Its process may be started again after it was uninstalled."""
    assert installed.find_channel_module("pidgin") == f"{entries.name}.pidgin_channel"
    with pytest.raises(ModuleNotFoundError, match="of channel 'owl' is no longer installed"):
        installed.find_channel_module("owl")
