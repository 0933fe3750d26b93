"""What is downloaded is told first, and only what is missing."""

from pathlib import Path

from orchestrator.extensions.local_model.model_download import list_downloads


def test_model_that_is_there_is_not_downloaded_again(tmp_path: Path) -> None:
    """Whatever else is missing."""
    before = [one.what for one in list_downloads(tmp_path)]
    assert any("the model" in what for what in before)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "smollm2-135m.gguf").write_bytes(b"GGUF")
    after = [one.what for one in list_downloads(tmp_path)]
    assert not any("the model" in what for what in after)
    assert {*after} < {*before}
