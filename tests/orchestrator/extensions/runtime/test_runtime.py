"""The path `thinker.runtime`, which programs import."""

import sys

import pytest

import thinker.runtime
from orchestrator.extensions import runtime


def test_promised_path_has_the_same_objects() -> None:
    """So an error that is caught by one path is that of the other."""
    assert {name: getattr(thinker.runtime, name) for name in dir(thinker.runtime)} == {
        name: getattr(runtime, name) for name in runtime.__all__
    }


def test_star_imports_what_is_promised() -> None:
    """As every package with ``__all__`` does."""
    given: dict[str, object] = {}
    exec("from thinker.runtime import *", given)  # noqa: S102 - a line of this test
    assert given.keys() - {"__builtins__"} == {*runtime.__all__}


def test_other_name_is_no_part_of_it() -> None:
    """The error names the path that was imported."""
    with pytest.raises(ImportError, match=r"cannot import name 'nonsense' from 'thinker\.runtime'"):
        exec("from thinker.runtime import nonsense")  # noqa: S102 - a line of this test


def test_missing_library_of_the_extension_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """To install the extension again would not bring it."""
    monkeypatch.delitem(sys.modules, "thinker.runtime")
    for name in [name for name in sys.modules if name.startswith(runtime.__name__)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "anyio", None)
    with pytest.raises(ModuleNotFoundError, match="anyio"):
        exec("from thinker.runtime import create_runtime")  # noqa: S102 - a line of this test
