"""``orchestrator replay``, as far as it only reads what it is told."""

from pathlib import Path

import pytest
import typer

from orchestrator.extensions.workbench.commands.replay import (
    ChangeOptions,
    parse_limit,
    parse_tools,
    read_files,
)
from orchestrator.settings import Settings

SKILL = "---\nname: travel\ndescription: Plans journeys.\n---\n1. Ask for the class.\n"


def test_tools_are_added_and_removed_by_their_signs() -> None:
    """An entry without one is refused."""
    assert parse_tools("") == ((), ())
    assert parse_tools("+a, -b,+c") == (("a", "c"), ("b",))
    for wrong in ("a", "+", "+a,b"):
        with pytest.raises(typer.BadParameter):
            parse_tools(wrong)


def test_limit_is_in_dollars_or_tokens() -> None:
    """Nothing else is one."""
    assert parse_limit("") == (None, None)
    assert parse_limit("0.50") == parse_limit("$0.5") == (0.5, None)
    assert parse_limit("5000t") == (None, 5000)
    for wrong in ("0", "-1", "t", "0t", "much", "1.5t"):
        with pytest.raises(typer.BadParameter):
            parse_limit(wrong)


def test_changed_files_get_the_names_that_editors_use(tmp_path: Path) -> None:
    """A skill by its folder or file; a prompt is one of the home, or else the base prompt."""
    settings = Settings(home=tmp_path / "home")
    settings.paths.prompts.mkdir(parents=True)
    (settings.paths.prompts / "guide.md").write_text("old", "utf-8")
    skill, guide, base = (tmp_path / name for name in ("travel.md", "guide.md", "base.txt"))
    skill.write_text(SKILL, "utf-8")
    guide.write_text("new", "utf-8")
    base.write_text("Be brief.\n", "utf-8")
    assert read_files(settings, [skill], guide) == (
        {"skills/travel/SKILL.md": SKILL, "prompts/guide.md": "new"},
        {},
    )
    whole = tmp_path / "trip" / "SKILL.md"
    whole.parent.mkdir()
    whole.write_text(SKILL, "utf-8")
    assert read_files(settings, [whole], None) == ({"skills/trip/SKILL.md": SKILL}, {})
    assert read_files(settings, (), base) == ({}, {"base": "Be brief."})
    for wrong in ([base], [tmp_path / "none.md"]):
        with pytest.raises(typer.BadParameter):
            read_files(settings, wrong, None)


def test_options_become_one_request(tmp_path: Path) -> None:
    """Nothing is changed by default; an effort may be a number of tokens."""
    settings = Settings(home=tmp_path)
    plain = ChangeOptions().build_request(settings, "t1")
    assert not plain.change.changes_anything
    assert (plain.turns, plain.times, plain.unrecorded) == (("t1",), 1, "stop")
    chosen = ChangeOptions(
        model="openai/gpt-5", effort="2048", tools="+a", first=1, as_made="today", times=2
    )
    change = chosen.build_request(settings, "t1").change
    assert (change.model, change.effort, change.add_tools) == ("openai/gpt-5", 2048, ("a",))
    assert (change.from_step, change.as_today) == (1, True)
    with pytest.raises(typer.BadParameter):
        ChangeOptions(effort="much").build_request(settings, "t1")
