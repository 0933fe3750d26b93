"""Texts are read, saved and undone without loss, whoever else edits them."""

import json
from pathlib import Path

import pytest
from fakes.edited_home import AGENTS, SKILL, EditedHome

from orchestrator.control.editing import FileEdit, ValueChange, VersionName
from orchestrator.errors import UnknownNameError

NOTE = "skills/morning-note/SKILL.md"


@pytest.fixture
def home(tmp_path: Path) -> EditedHome:
    return EditedHome(tmp_path / "home")


async def test_a_saved_edit_is_in_force_and_a_version_with_its_sentences(home: EditedHome) -> None:
    """The state before it is kept as well."""
    text = (await home.read("agents.json")).replace('"home", "ll', '"home", "maxSteps": 12, "ll')
    report = await home.save("agents.json", text)
    assert report.saved
    assert report.sentences == ("home: maxSteps: 8 (the default) → 12",)
    assert json.loads((home.path / "agents.json").read_text())["agents"][1]["maxSteps"] == 12
    assert home.applied == 1
    assert await home.list_authors("agents.json") == ["web:anna", "a file"]


async def test_an_edit_on_an_older_text_is_a_conflict_with_both_texts(home: EditedHome) -> None:
    """Nothing of either is lost."""
    base = (await home.keeper.read_text(VersionName(name=NOTE))).base
    await home.save(NOTE, SKILL)
    late = FileEdit(name=NOTE, base=base, text=SKILL.replace("one", "two"))
    report = await home.keeper.save_edit(late, "web:bob")
    assert (report.conflict, report.saved) == (True, False)
    assert "two sentence" in report.text
    assert report.present == SKILL
    again = late.model_copy(update={"base": report.base})
    assert (await home.keeper.save_edit(again, "web:bob")).saved


async def test_an_edit_with_an_error_is_not_saved(home: EditedHome) -> None:
    """The problem has its line."""
    report = await home.save("agents.json", AGENTS.replace('"demo" }', '"demo", "maxSteps": "x" }'))
    assert not report.saved
    assert [(problem.severity, problem.line) for problem in report.problems] == [("error", 4)]
    assert (home.path / "agents.json").read_text() == AGENTS
    assert home.applied == 0


async def test_undo_goes_back_step_by_step_also_after_a_restart(home: EditedHome) -> None:
    """Each undo is a version, and undoes an edit that still stands."""
    for word in ("two", "three"):
        await home.save(NOTE, SKILL.replace("one", word))
    home.restart()
    assert "two sentence" in (await home.undo()).text
    assert (await home.undo()).text == ""
    assert not (home.path / NOTE).exists()
    with pytest.raises(UnknownNameError, match="no change is left"):
        await home.undo()
    assert "three" in (await home.undo(NOTE, 3)).text


async def test_secrets_are_in_no_answer_and_no_version_and_survive_an_undo(
    home: EditedHome,
) -> None:
    """A text comes back with marks, which become the secrets again."""
    text = await home.read("agents.json")
    assert "first-secret" not in text
    assert (
        await home.save("agents.json", text.replace('"demo" }', '"demo", "maxSteps": 9 }'))
    ).saved
    file = home.path / "agents.json"
    assert json.loads(file.read_text())["agents"][0]["env"] == {"WIKI_TOKEN": "first-secret"}
    file.write_text(file.read_text().replace("first-secret", "second-secret"))
    report = await home.undo("agents.json", 1)
    assert report.saved
    assert json.loads(file.read_text())["agents"][0]["env"] == {"WIKI_TOKEN": "second-secret"}
    assert "1 secret stayed as it is now" in report.sentences[-1]
    kept = b"".join(
        path.read_bytes() for path in home.settings.paths.history.rglob("*") if path.is_file()
    )
    assert b"-secret" not in kept


async def test_a_form_changes_single_values(home: EditedHome) -> None:
    """The layout of the rest stays as it was written."""
    present = await home.keeper.read_text(VersionName(name="agents.json"))
    changes = (
        ValueChange(path=("agents", 1, "maxSteps"), value=20),
        ValueChange(path=("bindings", 0), remove=True),
    )
    edit = FileEdit(name="agents.json", base=present.base, changes=changes)
    report = await home.keeper.check_edit(edit)
    assert '"demo", "maxSteps": 20 }' in report.text
    assert report.sentences[-1] == "every chat of console does not go to work by a binding any more"
