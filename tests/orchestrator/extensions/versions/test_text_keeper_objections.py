"""What extensions object to is not saved unless its author insists."""

from pathlib import Path

from fakes.edited_home import EditedHome

from orchestrator.control.editing import FileEdit, ValueChange, VersionName


async def test_objection_keeps_a_text_from_being_saved_until_its_author_insists(
    tmp_path: Path,
) -> None:
    """Who objects sees the whole text, without its secrets, and only if it could be saved."""
    home = EditedHome(tmp_path)
    asked: list[tuple[str, str | None, bool, str]] = []

    async def object_to(edit: FileEdit, by: str) -> tuple[str, ...]:
        asked.append((edit.name, edit.text, edit.anyway, by))
        return () if edit.anyway else ("the gate 'daily' is red",)

    home.keeper.judge = object_to
    base = (await home.keeper.read_text(VersionName(name="agents.json"))).base
    change = ValueChange(path=("agents", 0, "maxSteps"), value=3)
    edit = FileEdit(name="agents.json", base=base, changes=(change,))
    refused = await home.keeper.save_edit(edit, "web:anna")
    assert (refused.saved, refused.objections) == (False, ("the gate 'daily' is red",))
    assert refused.explain_refusal() == "the gate 'daily' is red"
    assert home.applied == 0
    insisting = edit.model_copy(update={"anyway": True})
    assert (await home.keeper.save_edit(insisting, "web:anna")).saved
    wrong = FileEdit(name="agents.json", base="", text="{")
    assert not (await home.keeper.save_edit(wrong, "web:anna")).objections
    (name, text, _, by), (*_, anyway, _) = asked
    assert (name, by, anyway) == ("agents.json", "web:anna", True)
    assert text is not None
    assert '"maxSteps": 3' in text
    assert "first-secret" not in text
