"""Modules that libraries load in vain, and the page's process does without."""

import importlib
import json
import subprocess
import sys

import pytest

from orchestrator.extensions.page.absent_modules import AbsentName, leave_out_modules

LOADED = "import sys, orchestrator.extensions.page.__main__; print(*sys.modules)"
ABSENT = {"ssl", "_ssl", "_hashlib", "click", "uvicorn.main", "logging.config", "multiprocessing"}


def test_module_that_is_left_out_has_any_name_and_is_real_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What imports it meanwhile may call its names, inherit from them, and catch them."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with leave_out_modules("colorsys"):
        absent = importlib.import_module("colorsys")
        assert absent.rgb_to_hsv is AbsentName
        assert issubclass(absent.Anything, Exception)
    assert importlib.import_module("colorsys").rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_module_that_is_loaded_stays() -> None:
    """Others use it."""
    with leave_out_modules("json"):
        assert importlib.import_module("json") is json


@pytest.mark.process
def test_process_of_the_page_loads_neither_tls_nor_a_command_line() -> None:
    """Not even with the backend of anyio, which is loaded late."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", LOADED], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stdout.split())
    assert {"anyio._backends._asyncio", "uvicorn.server", "hashlib"} <= loaded
    assert not ABSENT & loaded
