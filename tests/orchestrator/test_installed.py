"""Extensions of other distributions are loaded, or left out with a reason."""

import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint
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


def load_owl(monkeypatch: pytest.MonkeyPatch, kind: object) -> installed.Installed:
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
