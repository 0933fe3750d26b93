"""A running daemon's answers about texts, and who asked."""

from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.edited_home import EditedHome

from orchestrator.control.editing import FILE_READ, FILE_SAVE, FILE_UNDO, FileEdit, UndoRequest
from orchestrator.control.protocol import UNKNOWN_NAME
from orchestrator.extensions.versions.versions_part import build_methods
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import FAILED, RpcError


async def test_each_edit_is_signed_by_who_made_it(tmp_path: Path) -> None:
    """The page's methods are those of one person."""
    home = EditedHome(tmp_path / "home")
    edit = FileEdit(name="prompts/tea.md", base="", text="Tea.")
    await build_methods(home.keeper, "web:bob")[FILE_SAVE](edit.model_dump(by_alias=True))
    assert await home.list_authors("prompts/tea.md") == ["web:bob", "web:bob"]
    await build_methods(home.keeper, "operator")[FILE_UNDO](UndoRequest().model_dump())
    assert (await home.list_authors("prompts/tea.md"))[0] == "operator"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        (FILE_READ, {"name": "../keys.env"}, UNKNOWN_NAME),
        (FILE_READ, {"name": "agents.json", "number": 9}, FAILED),
        (FILE_UNDO, {}, UNKNOWN_NAME),
    ],
)
async def test_refusal_has_its_code(
    tmp_path: Path, method: str, params: JsonObject, code: int
) -> None:
    """A command shows the reason."""
    home = EditedHome(tmp_path / "home")
    with pytest.raises(RpcError) as refused:
        await build_methods(home.keeper, "operator")[method](params)
    assert refused.value.code == code


def test_commands_edit_compare_and_undo_without_a_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the home itself; the editor is the person's own."""
    home = EditedHome(tmp_path).path
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/"home", /"home", "maxSteps": 9, /\' "$1"\n')
    editor.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    edited = command(home, "config", "edit", "--why", "longer", said="y\n")
    assert "home: maxSteps: 8 (the default) → 9" in edited.stdout
    assert "first-secret" in (home / "agents.json").read_text()
    assert "by operator: longer" in command(home, "config", "history").stdout
    assert '"maxSteps": 9' in command(home, "config", "diff").stdout
    assert "agents.json: undone" in command(home, "undo").stdout
    assert '"maxSteps"' not in (home / "agents.json").read_text()
    assert "agents.json" in command(home, "config", "list").stdout


def test_edit_with_an_error_leads_back_or_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed is not lost."""
    home = EditedHome(tmp_path).path
    before = (home / "agents.json").read_text()
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/demo/nope/")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    refused = command(home, "config", "edit", said="n\n")
    assert refused.exit_code == 1
    assert "nothing was saved; your text is in" in refused.stdout
    assert (home / "agents.json").read_text() == before


def test_editor_that_fails_saves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one that does not exist."""
    home = EditedHome(tmp_path).path
    monkeypatch.delenv("VISUAL", raising=False)
    for editor, reason in (("false", "ended with 1"), ("no-such-editor-here", "cannot be run")):
        monkeypatch.setenv("EDITOR", editor)
        assert reason in command(home, "config", "edit").stderr


def test_text_stays_when_its_editor_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place is told."""
    home = EditedHome(tmp_path).path
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho typed >> $1\nexit 1\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    place = command(home, "config", "edit").stdout.rpartition("your text is in ")[2]
    assert Path("".join(place.split())).read_text().endswith("typed\n")


def test_ends_of_lines_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another system is not rewritten by the editor's copy."""
    file = EditedHome(tmp_path).path / "agents.json"
    before = file.read_bytes().replace(b"\n", b"\r\n")
    file.write_bytes(before)
    monkeypatch.setenv("VISUAL", "true")
    assert "nothing was changed" in command(tmp_path, "config", "edit", said="y\n").stdout
    assert file.read_bytes() == before
