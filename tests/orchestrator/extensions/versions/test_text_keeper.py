"""Texts are read, saved and undone without loss, also when others edit them."""

import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from fakes.edited_home import AGENTS, SKILL, EditedHome
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.control.editing import (
    EditReport,
    FileEdit,
    FileName,
    UndoRequest,
    ValueChange,
    VersionName,
)
from orchestrator.errors import ConfigError, OrchestratorError, UnknownNameError
from orchestrator.extensions.versions.file_kinds import PromptKind

NOTE = "skills/morning-note/SKILL.md"
SAME = FileEdit(name=NOTE, base="", text=SKILL)
MARK = "[kept secret: agents/work/env/WIKI_TOKEN]"


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
    assert report.sentences == tuple(
        (await home.keeper.check_edit(late.model_copy(update={"base": report.base}))).sentences
    )
    assert "1 word more" in report.sentences[0]
    again = late.model_copy(update={"base": report.base})
    assert (await home.keeper.save_edit(again, "web:bob")).saved


async def test_an_edit_with_an_error_is_not_saved(home: EditedHome) -> None:
    """The problem has its line."""
    report = await home.save("agents.json", AGENTS.replace('"demo" }', '"demo", "maxSteps": "x" }'))
    assert not report.saved
    assert [(problem.severity, problem.line) for problem in report.problems] == [("error", 4)]
    assert (home.path / "agents.json").read_text() == AGENTS
    assert home.applied == 0


async def test_an_edit_is_not_lost_when_the_daemon_dies_before_it_counts(home: EditedHome) -> None:
    """The file is whole, is read at the next start, and becomes a version then."""
    home.dies = True
    with pytest.raises(RuntimeError, match="died"):
        await home.save(NOTE, SKILL)
    home.restart()
    await home.notice()
    assert await home.read(NOTE) == SKILL
    assert await home.list_authors(NOTE) == ["a file"]
    assert [path.name for path in (home.path / NOTE).parent.iterdir()] == ["SKILL.md"]


async def test_an_undo_leaves_a_change_that_came_meanwhile(home: EditedHome) -> None:
    """One who undoes what is shown as newest does not undo what others saved since."""
    for word in ("two", "three"):
        await home.save(NOTE, SKILL.replace("one", word))
    seen = (await home.keeper.load_history(FileName(name=NOTE))).versions[0].number
    await home.save(NOTE, SKILL.replace("one", "four"))
    with pytest.raises(OrchestratorError, match="changed meanwhile"):
        await home.keeper.undo_change(UndoRequest(name=NOTE, after=seen), "web:anna")
    assert "four" in await home.read(NOTE)
    await home.keeper.undo_change(UndoRequest(name=NOTE, after=seen + 1), "web:anna")
    assert "three" in await home.read(NOTE)


@pytest.mark.parametrize("late", [False, True])
async def test_an_edit_does_not_follow_a_link_out_of_the_home(
    home: EditedHome, tmp_path: Path, *, late: bool
) -> None:
    """Nor one that was put there after the text was read."""
    victim, file = tmp_path / "victim", home.path / NOTE
    victim.write_text(SKILL)
    if late:
        await home.save(NOTE, SKILL)
        base = (await home.keeper.read_text(VersionName(name=NOTE))).base
        file.unlink()
    else:
        file.parent.mkdir()
        base = ""
    file.symlink_to(victim)
    edit = FileEdit(name=NOTE, base=base, text=SKILL.replace("one", "two"))
    with pytest.raises(ConfigError, match="by a link"):
        await home.keeper.save_edit(edit, "web:bob")
    assert victim.read_text() == SKILL


async def test_four_edits_at_once_have_one_winner(home: EditedHome) -> None:
    """The others get a conflict with the text that won."""
    await home.save(NOTE, SKILL)
    base = (await home.keeper.read_text(VersionName(name=NOTE))).base
    words = ("two", "three", "four", "five")
    reports: list[EditReport] = []

    async def save(word: str) -> None:
        edit = FileEdit(name=NOTE, base=base, text=SKILL.replace("one", word))
        reports.append(await home.keeper.save_edit(edit, f"web:{word}"))

    async with anyio.create_task_group() as tasks:
        for word in words:
            tasks.start_soon(save, word)
    (won,) = (report for report in reports if report.saved)
    assert (home.path / NOTE).read_text() == won.text
    lost = [report for report in reports if report.conflict]
    assert {report.present for report in lost} == {won.text}
    assert len({report.text for report in reports}) == len(words)


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


async def test_edit_says_what_it_means_for_other_machines(home: EditedHome) -> None:
    """In a home that takes its configuration from all of them; a version does not repeat it."""
    home.settings.paths.pushed.write_text("{}")
    assert "config push" in (await home.save(NOTE, SKILL)).sentences[-1]
    history = await home.keeper.load_history(FileName(name=NOTE))
    assert "config push" not in " ".join(history.versions[0].sentences)


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


async def test_of_two_who_save_at_once_one_meets_a_conflict(home: EditedHome) -> None:
    """Both texts are there afterwards."""
    await home.save(NOTE, SKILL)
    base = (await home.keeper.read_text(VersionName(name=NOTE))).base
    reports: list[EditReport] = []

    async def save(word: str) -> None:
        edit = FileEdit(name=NOTE, base=base, text=SKILL.replace("one", word))
        reports.append(await home.keeper.save_edit(edit, "web:anna"))

    async with anyio.create_task_group() as tasks:
        for word in ("two", "three", "four"):
            tasks.start_soon(save, word)
    assert sorted(report.saved for report in reports) == [False, False, True]
    (saved,) = (report for report in reports if report.saved)
    assert all(one.present == saved.text for one in reports if one.conflict)


async def test_edit_in_an_editor_beside_the_page_is_a_version_and_no_loss(home: EditedHome) -> None:
    """It came between the page's reading and its saving."""
    await home.save(NOTE, SKILL)
    base = (await home.keeper.read_text(VersionName(name=NOTE))).base
    (home.path / NOTE).write_text(SKILL.replace("one", "seven"))
    late = FileEdit(name=NOTE, base=base, text=SKILL.replace("one", "two"))
    report = await home.keeper.save_edit(late, "web:anna")
    assert report.conflict
    assert "seven" in report.present
    assert await home.list_authors(NOTE) == ["a file", "web:anna", "web:anna"]


async def test_edit_right_before_the_file_is_replaced_is_noticed(
    home: EditedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is compared once more when the new one is ready."""
    await home.save(NOTE, SKILL)
    path, fsync = home.path / NOTE, os.fsync

    def write_meanwhile(fd: int) -> None:
        path.write_text(SKILL.replace("one", "seven"))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", write_meanwhile)
    report = await home.save(NOTE, SKILL.replace("one", "two"))
    monkeypatch.undo()
    assert (report.saved, report.conflict) == (False, True)
    assert "seven" in path.read_text()
    assert sorted(one.name for one in path.parent.iterdir()) == ["SKILL.md"]


async def test_edits_by_hand_become_versions_when_they_are_noticed(home: EditedHome) -> None:
    """New, changed, invalid and removed files alike."""
    await home.notice()
    file = home.path / "agents.json"
    file.write_text(AGENTS.replace('"demo" }', '"demo", "maxSteps": 9 }'))
    await home.notice()
    file.write_text(AGENTS.replace('"demo" }', '"demo", "maxSteps": "x" }'))
    await home.notice()
    (home.path / "prompts" / "tea.md").write_text("Tea.")
    await home.notice()
    (home.path / "prompts" / "tea.md").unlink()
    await home.notice()
    history = await home.keeper.load_history(FileName(name="agents.json"))
    assert [version.sentences[-1] for version in history.versions] == [
        "it has errors, so what was there before stays in force",
        "home: maxSteps: 8 (the default) → 9",
        "the text as it was found",
    ]
    assert await home.list_authors("prompts/tea.md") == ["a file", "a file"]
    assert (await home.undo("prompts/tea.md")).text == "Tea."


async def test_undo_goes_back_before_all_texts_with_errors(tmp_path: Path) -> None:
    """However often a file was saved by hand while it could not be used."""
    good = '{"agents": [{"agentId": "work", "llmProvider": "demo"}]}'
    home = EditedHome(tmp_path / "home", good)
    await home.notice()
    for broken in ("{", "{{"):
        (home.path / "agents.json").write_text(broken)
        await home.notice()
    assert (await home.undo("agents.json")).saved
    assert (home.path / "agents.json").read_text() == good


@pytest.mark.parametrize("cut", [",\n", "  ]", '"demo" }', "}\n"])
async def test_undo_of_a_text_that_is_no_json_keeps_its_secrets(home: EditedHome, cut: str) -> None:
    """They are found by their places, as far as these can be told."""
    good = AGENTS.replace('"home",', '"home", "env": { "WIKI_TOKEN": "other-secret" },')
    file = home.path / "agents.json"
    file.write_text(good)
    await home.notice()
    file.write_text(good[::-1].replace(cut[::-1], "", 1)[::-1])
    report = await home.undo("agents.json")
    assert (report.saved, file.read_text()) == (True, good)


async def test_undo_to_a_text_with_errors_is_refused(home: EditedHome) -> None:
    """Its problems are told."""
    file = home.path / "agents.json"
    file.write_text("{")
    await home.notice()
    file.write_text(AGENTS)
    await home.notice()
    report = await home.undo("agents.json", 1)
    assert not report.saved
    assert "expected a name" in report.problems[0].message
    assert file.read_text() == AGENTS


async def test_fifty_versions_of_a_text_are_kept(home: EditedHome) -> None:
    """The oldest go first, and numbers are not used again."""
    for number in range(60):
        await home.save(NOTE, SKILL.replace("one", str(number)))
    history = await home.keeper.load_history(FileName(name=NOTE))
    assert [version.number for version in history.versions] == [*range(61, 11, -1)]


async def test_damaged_version_is_one_less(home: EditedHome) -> None:
    """The others can still come back."""
    for word in ("two", "three"):
        await home.save(NOTE, SKILL.replace("one", word))
    folder = home.settings.paths.history / "skills%2Fmorning-note%2FSKILL.md"
    (folder / "2").write_bytes(b"\xff")
    assert await home.list_authors(NOTE) == ["web:anna", "web:anna"]
    with pytest.raises(OrchestratorError, match="no version 2"):
        await home.undo(NOTE, 2)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


async def test_full_disk_is_said_and_loses_nothing(home: EditedHome) -> None:
    """What is saved is in force, and its version is kept as soon as it can be."""
    history = home.settings.paths.history
    history.write_text("in the way")
    report = await home.save(NOTE, SKILL)
    assert (report.saved, report.base) == (True, (await home.keeper.check_edit(SAME)).base)
    assert report.problems[0].message == (
        f"it is saved and in force, but no version of {NOTE} as it is now could be kept (File"
        " exists); free some space, and look at the folder history of the home"
    )
    with pytest.raises(OrchestratorError, match="no version of"):
        await home.save(NOTE, None)
    history.unlink()
    await home.notice()
    assert await home.list_authors(NOTE) == ["a file"]


async def test_secret_that_was_just_written_is_not_in_the_difference(home: EditedHome) -> None:
    """Neither where one was, nor at a new place; what else changes is shown."""
    text = (await home.read("agents.json")).replace(MARK, "fresh-word")
    text = text.replace('"demo" }', '"demo", "maxSteps": 9, "env": { "A": "fresh-word" } }')
    report = await home.save("agents.json", text)
    assert report.saved
    assert "fresh-" not in report.difference
    assert '+    { "agentId": "home", "llmProvider": "demo", "maxSteps": 9' in report.difference


async def test_text_whose_folder_does_not_answer_does_not_end_the_notice(
    home: EditedHome,
) -> None:
    """The other texts become versions."""

    class SilentKind(PromptKind):
        async def list_names(self) -> Sequence[str]:
            raise TimeoutError("no answer in 10 seconds; check its file system")

    agents = home.kinds[0]
    await home.keeper.notice_changes([SilentKind(agents.home), agents])
    assert home.keeper.versions.list_names() == ["agents.json"]


async def test_change_that_a_file_cannot_hold_is_an_error(home: EditedHome) -> None:
    """Such as a member of a number."""
    present = await home.keeper.read_text(VersionName(name="agents.json"))
    changes = (ValueChange(path=("agents", "work", "model"), value="x"),)
    edit = FileEdit(name="agents.json", base=present.base, changes=changes)
    report = await home.keeper.check_edit(edit)
    assert report.problems


async def test_token_that_is_moved_to_another_field_is_in_no_sentence(home: EditedHome) -> None:
    """Also where other letters make it look like a word."""
    token = "ghp_" + "a1B2" * 6
    file = home.path / "agents.json"
    file.write_text(AGENTS.replace('"demo" }', f'"demo", "systemPrompt": "{token}" }}'))
    present = await home.keeper.read_text(VersionName(name="agents.json"))
    text = present.text.replace(
        '"home",', '"home", "model": "x[kept secret: agents/home/systemPrompt 1]",'
    )
    edit = FileEdit(name="agents.json", base=present.base, text=text)
    report = await home.keeper.check_edit(edit)
    assert "model" in report.sentences[0]
    assert token not in report.model_dump_json()


async def test_half_a_character_in_a_form_is_an_error(home: EditedHome) -> None:
    """No file can hold it."""
    present = await home.keeper.read_text(VersionName(name="agents.json"))
    changes = (ValueChange(path=("agents", 0, "model"), value="\ud800"),)
    edit = FileEdit(name="agents.json", base=present.base, changes=changes)
    report = await home.keeper.save_edit(edit, "web:anna")
    assert "agents/0/model has half a character" in report.problems[0].message


TEXTS = st.sampled_from([SKILL.replace("one", word) for word in ("two", "three", "four", "five")])
STEPS = st.lists(st.one_of(TEXTS, st.none(), st.just("undo"), st.just("by hand")), max_size=8)


@given(steps=STEPS)
@settings(max_examples=25, deadline=None)
def test_no_sequence_of_edits_and_undos_loses_a_text(steps: list[str | None]) -> None:
    """Each text that was ever in force is a version."""

    async def play(folder: Path) -> None:
        home, seen = EditedHome(folder), set[str]()
        for number, step in enumerate(steps):
            if step == "undo":
                with suppress(UnknownNameError):
                    await home.undo(NOTE)
            elif step == "by hand":
                path = home.path / NOTE
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(SKILL.replace("one", str(number)))
                await home.notice()
            else:
                await home.save(NOTE, step)
            seen.add(await home.read(NOTE))
        history = await home.keeper.load_history(FileName(name=NOTE))
        kept = {await home.read(NOTE, version.number) for version in history.versions}
        assert seen - {""} <= kept

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(play, Path(folder) / "home")
