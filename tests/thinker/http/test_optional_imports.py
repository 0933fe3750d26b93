"""Libraries' optional packages stay out of processes that never use them."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from thinker.http.optional_imports import block_imports

RARE = {
    *("httpx", "h11", "uvicorn", "starlette", "markdown_it", "jsonschema", "json_repair", "mcp"),
    *("httptools", "prompt_toolkit", "html_to_markdown", "genai_prices"),
    *(
        "orchestrator.extensions.workspace.workspace",
        "orchestrator.extensions.http_api.endpoints",
        "orchestrator.extensions.selftest.crash",
    ),
    *(
        "orchestrator.extensions.doctor",
        "orchestrator.extensions.selftest.simulator",
        "orchestrator.extensions.telegram.adapter",
    ),
}


def test_package_is_not_found_inside_and_found_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import inside the block fails as if the package were not installed."""
    (tmp_path / "an_extra.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with block_imports("an_extra"), pytest.raises(ModuleNotFoundError):
        import_module("an_extra")
    assert import_module("an_extra").__name__ == "an_extra"


def test_package_that_is_loaded_stays() -> None:
    """Code that already uses it continues to work."""
    with block_imports("sys"):
        assert import_module("sys") is sys
    assert sys.modules["sys"] is sys


@pytest.mark.process
@pytest.mark.parametrize("module", ["orchestrator.cli.run", "thinker.zygote", "thinker.__main__"])
def test_long_lived_process_loads_no_command_line_library(module: str) -> None:
    """Colored tracebacks would add a tenth to each start."""
    code = f"import sys, {module}; print(*sorted({{'rich', 'click'}} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert found.stdout.decode().strip() == ""


@pytest.mark.process
def test_daemon_loads_nothing_that_few_homes_need() -> None:
    """Every module of these would make each start longer."""
    code = f"import sys, orchestrator.cli.run; print(*sorted({RARE!r} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert found.stdout.decode().strip() == ""
