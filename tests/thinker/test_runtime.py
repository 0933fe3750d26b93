"""The path `thinker.runtime`, where the extension behind it is not installed."""

import sys

import pytest

IMPLEMENTATION = "orchestrator.extensions.runtime"


def test_program_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the import itself; the entry point is still there, as after a folder was deleted."""
    monkeypatch.delitem(sys.modules, "thinker.runtime", raising=False)
    monkeypatch.setitem(sys.modules, IMPLEMENTATION, None)  # Python finds no such module
    with pytest.raises(ImportError) as refused:
        exec("from thinker.runtime import create_runtime")  # noqa: S102 - a line of this test
    assert str(refused.value) == (
        "agents in a Python program need the extension 'runtime', which is not installed; run: pip"
        " install --force-reinstall orchestrator-daemon"
    )
