"""Versions of texts in files, each with a line about it in front of the text."""

from pathlib import Path

import pytest

from orchestrator.extensions.versions.version_files import VERSION, VersionFiles, VersionHead

HEAD = VersionHead(number=1, at=1000, by="web:anna", sentences=("it is longer",))


@pytest.fixture
def versions(tmp_path: Path) -> VersionFiles:
    return VersionFiles(tmp_path / "history")


def test_list_of_versions_reads_none_of_their_texts(versions: VersionFiles, tmp_path: Path) -> None:
    """One that is too large to be read is in it."""
    kept = [versions.add_version("prompts/a.md", HEAD, text) for text in ("word", None)]
    with (tmp_path / "history" / "prompts%2Fa.md" / "1").open("ab") as file:
        file.truncate(VERSION.max_bytes + 1)
    assert versions.list_heads("prompts/a.md") == kept


def test_version_of_which_the_line_is_damaged_is_left_out(
    versions: VersionFiles, tmp_path: Path
) -> None:
    """Also one in place of which a folder is."""
    kept = [versions.add_version("prompts/a.md", HEAD, str(number)) for number in range(3)]
    folder = tmp_path / "history" / "prompts%2Fa.md"
    (folder / "1").write_bytes(b'{"number": 1, "at": 1')
    (folder / "2").unlink()
    (folder / "2").mkdir()
    assert versions.list_heads("prompts/a.md") == kept[2:]
