"""What is wrong with a channel of the channel host is said with its line and what to do.

The chat system is an invented one: each of the real ones could be deleted.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fakes.installed_extensions import install_extensions
from fakes.pigeon import KIND, write_pigeon_folder

from orchestrator.agentsfile import AgentsFileError, hosted_checks, load_agents_file
from orchestrator.agentsfile.channel_kinds import load_channel_kinds

SECTION = {"loft": "https://m.example", "ring": "bot-1"}
LOFT = {"about": "Its loft.", "pattern": "loft", "must": "a loft"}
KEYS = {"PIGEON_TOKEN": "t"}


@pytest.fixture(autouse=True)
def pigeon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel host with pigeons."""
    install_extensions(monkeypatch, channels={"pigeon": write_pigeon_folder(tmp_path)})


def problems(folder: Path, section: Any, environ: dict[str, str], *bindings: str) -> list[str]:
    """All problems of a file with this section of Matrix."""
    path = folder / "agents.json"
    document = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "bindings": [
            {"channel": name, "chatId": "*", "agentId": "a"} for name in ("console", *bindings)
        ],
        "channels": {} if section is None else {"pigeon": section},
    }
    path.write_text(json.dumps(document, indent=1))
    try:
        found = load_agents_file(path, environ)
    except AgentsFileError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in found.problems]


def test_a_whole_section_has_no_problem(tmp_path: Path) -> None:
    """Its options are kept as they are."""
    assert problems(tmp_path, SECTION, KEYS, "pigeon") == []
    loaded = load_agents_file(tmp_path / "agents.json", KEYS).file.channels
    assert loaded.hosted_channels["pigeon"].format_options(load_channel_kinds()["pigeon"]) == {
        **SECTION,
        "grain": "corn",
    }
    assert "pigeon" in loaded.list_chat_channels()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"ring": "bot-1"}, "channel 'pigeon' has no \"loft\"; set it: Address of the loft."),
        ({**SECTION, "loft": "m.example"}, "channel 'pigeon': \"loft\" must be an address"),
        ({**SECTION, "ring": 5}, '"ring" must be a ring, such as bot-1'),
        ({**SECTION, "loft": ["x"]}, '"loft" must be text: put it in " "'),
        ({**SECTION, "loftt": "x"}, 'unknown field "loftt"; did you mean "loft"?'),
        ({**SECTION, "accessToken": "x"}, "secrets belong in keys.env"),
        ({**SECTION, "allowlist": ["ann"]}, '"ann" is not an id of Pigeon; it looks like "ann-7"'),
        ({**SECTION, "access": "all"}, '"access" must be'),
        ("on", "channel 'pigeon' must be"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, section: Any, said: str) -> None:
    """One sentence for each, with the line; the channel is off until it is corrected."""
    (found,) = problems(tmp_path, section, KEYS)
    assert said in found
    assert "agents.json:" in found
    assert (
        not load_agents_file(tmp_path / "agents.json", KEYS)
        .file.channels.hosted_channels["pigeon"]
        .enabled
    )


def test_a_missing_secret_is_a_warning_that_says_where_to_get_it(tmp_path: Path) -> None:
    """The channel comes alive when it is set."""
    (found,) = problems(tmp_path, SECTION, {}, "pigeon")
    assert "Pigeon is off: PIGEON_TOKEN is not set; ask its keeper, and put it in keys.env" in found
    assert problems(tmp_path, {**SECTION, "enabled": False}, {}) == []


def test_a_missing_library_is_a_warning_with_the_line_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the file counts; a file for another machine is not held against this one."""
    kind = load_channel_kinds()["pigeon"].model_copy(
        update={"requires": ("coo",), "extra": "pigeon"}
    )
    monkeypatch.setattr(hosted_checks, "load_channel_kinds", lambda: {"pigeon": kind})
    (found,) = problems(tmp_path, SECTION, KEYS, "pigeon")
    assert "Pigeon is off: coo is not installed; run: " in found
    assert found.endswith("pip install 'orchestrator-daemon[pigeon]'")
    loaded = load_agents_file(tmp_path / "agents.json", KEYS)
    assert (loaded.errors, loaded.problems[0].line) == ((), 21)
    assert load_agents_file(tmp_path / "agents.json").problems == ()
    assert problems(tmp_path, {**SECTION, "enabled": False}, KEYS) == []


def test_a_binding_without_its_channel_is_a_warning(tmp_path: Path) -> None:
    """No message would ever come by it."""
    (found,) = problems(tmp_path, None, {}, "pigeon")
    assert "Pigeon is off: agents.json has no channels.pigeon" in found


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"id_pattern": "("}, "id_pattern: must be a valid regular expression"),
        ({"id_example": "Ann"}, "channel.json: id_example does not match id_pattern"),
        ({"options": {"o": {**LOFT, "pattern": "["}}}, "options.o.pattern: must be a valid"),
        ({"options": {"o": {**LOFT, "default": "x"}}}, "options.o: its default does not match"),
        ({"options": {"o": {**LOFT, "color": "x"}}}, 'unknown field "options.o.color"'),
        ({"options": {"access": LOFT}}, "every channel has a field 'access'; rename the option"),
        ({"requires": ["a.b"]}, "requires.0: "),
    ],
)
def test_fault_of_a_manifest_costs_its_channel_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any], said: str
) -> None:
    """Its author is told where it is; nothing is raised where the file is read."""
    folder = write_pigeon_folder(tmp_path / "broken")
    (folder / "channel.json").write_text(json.dumps({**KIND, **fault}))
    install_extensions(monkeypatch, channels={"pigeon": folder})
    (found,) = problems(tmp_path, {**SECTION, "o": "x"}, KEYS)
    assert said in found


def test_channel_without_a_package_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been uninstalled, or have lost its manifest."""
    install_extensions(monkeypatch)
    (found,) = problems(tmp_path, SECTION, KEYS)
    assert re.search(r"install its package with .*pip and restart the daemon, or", found)
    reason = "the package pigeon has no channel.json"
    install_extensions(monkeypatch, broken={"pigeon": reason})
    (found,) = problems(tmp_path, SECTION, KEYS)
    assert f"channel 'pigeon' cannot be used: {reason}" in found


def test_a_misspelt_channel_is_named_with_the_nearest(tmp_path: Path) -> None:
    """Hosted channels count among the known ones."""
    path = tmp_path / "agents.json"
    document = {"agents": [{"agentId": "a", "llmProvider": "demo"}], "channels": {"pidgeon": {}}}
    path.write_text(json.dumps(document))
    with pytest.raises(AgentsFileError, match='did you mean "pigeon"'):
        raise AgentsFileError(list(load_agents_file(path, {}).errors))
