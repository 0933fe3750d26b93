"""``orchestrator local-model``."""

from pathlib import Path

from fakes.control_server import command

from orchestrator.errors import ExitCode


def test_sizes_are_told_before_anything_is_downloaded(tmp_path: Path) -> None:
    """Without a yes nothing is."""
    done = command(tmp_path, "local-model")
    assert "93 MB  SmolLM2-135M-Instruct" in done.stdout
    assert done.exit_code != ExitCode.OK
    assert not (tmp_path / "models").exists()
