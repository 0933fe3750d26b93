"""The base prompt comes from the first usable file."""

from pathlib import Path

from thinker.prompt.base_prompt import BUILT_IN, choose_base_prompt, override_base_prompt
from thinker.protocol.env import ThinkerSettings


def settings(home: Path) -> ThinkerSettings:
    """Return settings that name all three files in a directory."""
    return ThinkerSettings(
        agent_id="work",
        system_prompt_path=home / "custom.txt",
        persona_dir=home / "agents",
        default_system_prompt_path=home / "default.md",
    )


def write_all(home: Path) -> ThinkerSettings:
    """Write the three files and return settings for them."""
    (home / "custom.txt").write_text("custom", "utf-8")
    (home / "agents" / "work").mkdir(parents=True)
    (home / "agents" / "work" / "instructions.md").write_text("persona", "utf-8")
    (home / "default.md").write_text("default", "utf-8")
    return settings(home)


def test_custom_file_comes_before_persona_and_default(tmp_path: Path) -> None:
    """The first file wins without a warning."""
    base = choose_base_prompt(write_all(tmp_path))
    assert (base.text, base.source, base.warnings) == ("custom", "custom", ())


def test_persona_comes_before_the_default(tmp_path: Path) -> None:
    """An agent without a custom prompt uses its persona."""
    without = write_all(tmp_path).model_copy(update={"system_prompt_path": None})
    assert choose_base_prompt(without).source == "persona"


def test_missing_persona_gives_no_warning(tmp_path: Path) -> None:
    """Most agents have no persona file; the default is used."""
    (tmp_path / "default.md").write_text("default", "utf-8")
    without = settings(tmp_path).model_copy(update={"system_prompt_path": None})
    base = choose_base_prompt(without)
    assert (base.source, base.warnings) == ("default", ())


def test_unusable_file_is_skipped_with_a_warning(tmp_path: Path) -> None:
    """Each warning names the file and the correction."""
    given = write_all(tmp_path)
    (tmp_path / "custom.txt").write_text(" \n", "utf-8")
    (tmp_path / "agents" / "work" / "instructions.md").write_bytes(b"\xff\xfe broken")
    base = choose_base_prompt(given)
    assert base.source == "default"
    assert [warning.split(": ")[1] for warning in base.warnings] == [
        "the custom prompt is empty; write one or remove the file",
        base.warnings[1].split(": ")[1],
    ]
    assert "persona prompt cannot be read" in base.warnings[1]


def test_built_in_prompt_is_used_without_any_file(tmp_path: Path) -> None:
    """A worker always has a prompt, even with a directory in place of a file."""
    (tmp_path / "custom.txt").mkdir()
    base = choose_base_prompt(settings(tmp_path))
    assert (base.text, base.source, len(base.warnings)) == (BUILT_IN, "built-in", 2)


def test_text_of_a_file_is_kept_without_its_byte_order_mark(tmp_path: Path) -> None:
    """White space is kept: the file is the prompt."""
    (tmp_path / "custom.txt").write_bytes(b"\xef\xbb\xbf  You are I. \n")
    assert choose_base_prompt(settings(tmp_path)).text == "  You are I. \n"


def test_profile_replaces_the_base_prompt(tmp_path: Path) -> None:
    """A profile prompt wins over the custom file; a blank one does not."""
    base = choose_base_prompt(write_all(tmp_path))
    assert override_base_prompt(base, "Be a pirate.").source == "profile"
    assert override_base_prompt(base, "Be a pirate.").text == "Be a pirate."
    assert override_base_prompt(base, " ") is base
    assert override_base_prompt(base, None) is base
