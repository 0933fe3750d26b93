"""A library that is not installed is answered with the line to type."""

import sys
from pathlib import Path

import pytest

from orchestrator.extras import explain_missing


def test_installed_libraries_need_no_word() -> None:
    """Nor does an extra without any."""
    assert explain_missing(("json", "pydantic"), "matrix") == ""
    assert explain_missing((), "matrix") == ""


def test_first_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra brings the others too, so one line is enough."""
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert explain_missing(("json", "no_such_a", "no_such_b"), "matrix") == (
        "no_such_a is not installed; run: pip install 'orchestrator-daemon[matrix]'"
    )


def test_library_without_an_extra_has_no_distribution_that_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A channel that others publish names modules, such as yaml, and not what brings them."""
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    found = explain_missing(("no_such_a",), "")
    assert found == "no_such_a is not installed; install what brings it with pip"


def test_pip_of_an_environment_is_named_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one would install where the daemon does not look; an environment may have none."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert "run: pip install" in explain_missing(("no_such_a",), "matrix")
    (tmp_path / "pip").touch()
    assert f"run: {tmp_path}/pip install 'orch" in explain_missing(("no_such_a",), "matrix")


def test_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor asks for libraries that only its children may load."""
    (tmp_path / "heavy_library.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    assert explain_missing(("heavy_library",), "matrix") == ""
    assert "heavy_library" not in sys.modules
