"""What is wrong with a channel of the channel host is said with its line and what to do.

The chat system is an invented one: each of the real ones could be deleted.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agentsfile import AgentsFileError, load
from orchestrator.agentsfile.channel_kinds import channel_kinds

SECTION = {"loft": "https://m.example", "ring": "bot-1"}
KEYS = {"PIGEON_TOKEN": "t"}
KIND = {
    "title": "Pigeon",
    "options": {
        "loft": {"about": "Address of the loft.", "pattern": "https?://.+", "must": "an address"},
        "ring": {"about": "Its ring.", "pattern": r"[a-z]+-\d+", "must": "a ring, such as bot-1"},
        "grain": {"about": "Its food.", "pattern": r"\w+", "must": "a word", "default": "corn"},
    },
    "secrets": {"PIGEON_TOKEN": "ask its keeper"},
    "limit": 1000,
    "id_pattern": r"[a-z]+-\d+",
    "id_example": "ann-7",
}


@pytest.fixture(autouse=True)
def pigeon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A channel host with pigeons."""
    folder = tmp_path / "channelhost" / "pigeon"
    folder.mkdir(parents=True)
    (folder / "channel.json").write_text(json.dumps(KIND))
    monkeypatch.setattr("orchestrator.agentsfile.channel_kinds.FOLDER", folder.parent)
    channel_kinds.cache_clear()
    yield
    channel_kinds.cache_clear()


def problems(
    folder: Path, section: Any, environ: dict[str, str], *bindings: str, chat: str = "*"
) -> list[str]:
    """All problems of a file with this section of Matrix."""
    path = folder / "agents.json"
    document = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "bindings": [
            {"channel": name, "chatId": chat if name in bindings else "*", "agentId": "a"}
            for name in ("console", *bindings)
        ],
        "channels": {} if section is None else {"pigeon": section},
    }
    path.write_text(json.dumps(document, indent=1))
    try:
        found = load(path, environ)
    except AgentsFileError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in found.problems]


def test_a_whole_section_has_no_problem(tmp_path: Path) -> None:
    """Its options are kept as they are."""
    assert problems(tmp_path, SECTION, KEYS, "pigeon") == []
    loaded = load(tmp_path / "agents.json", KEYS).file.channels
    assert loaded.hosted["pigeon"].options(channel_kinds()["pigeon"]) == {
        **SECTION,
        "grain": "corn",
    }
    assert "pigeon" in loaded.guarded()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"ring": "bot-1"}, "channel 'pigeon' has no \"loft\"; set it: Address of the loft."),
        ({**SECTION, "loft": "m.example"}, "channel 'pigeon': \"loft\" must be an address"),
        ({**SECTION, "ring": 5}, '"ring" must be a ring, such as bot-1'),
        ({**SECTION, "loft": ["x"]}, '"loft" must be text: put it in " "'),
        ({**SECTION, "loftt": "x"}, 'unknown field "loftt"; did you mean "loft"?'),
        ({**SECTION, "accessToken": "x"}, "secrets belong in keys.env"),
        ({**SECTION, "allowlist": ["ann"]}, '"ann" is no id of Pigeon; an id is such as "ann-7"'),
        ({**SECTION, "access": "all"}, '"access" must be'),
        ("on", "channel 'pigeon' must be"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, section: Any, said: str) -> None:
    """One sentence for each, with the line; the channel is off until it is corrected."""
    (found,) = problems(tmp_path, section, KEYS)
    assert said in found
    assert "agents.json:" in found
    assert not load(tmp_path / "agents.json", KEYS).file.channels.hosted["pigeon"].enabled


@pytest.mark.parametrize("groups", [{"patterns": ["("]}, {"answer": "all"}])
def test_a_wrong_channel_is_not_said_to_be_off_as_well(tmp_path: Path, groups: Any) -> None:
    """To switch it on would change nothing."""
    (found,) = problems(tmp_path, {**SECTION, "groups": groups}, KEYS, "pigeon")
    assert '"groups.' in found
    (off,) = problems(tmp_path, {**SECTION, "enabled": False}, KEYS, "pigeon")
    assert "channel 'pigeon' is off" in off


def test_a_missing_secret_is_a_warning_that_says_where_to_get_it(tmp_path: Path) -> None:
    """The channel comes alive when it is set."""
    (found,) = problems(tmp_path, SECTION, {}, "pigeon")
    assert "because PIGEON_TOKEN is not set; ask its keeper, and put it in keys.env" in found
    assert problems(tmp_path, {**SECTION, "enabled": False}, {}) == []


def test_a_chat_that_cannot_be_is_a_warning(tmp_path: Path) -> None:
    """In the rules for groups and in a binding: neither would ever count."""
    groups = {"chats": {"#market": {"answer": ["all"]}, "roof-1": {"answer": []}}}
    (found,) = problems(tmp_path, {**SECTION, "groups": groups}, KEYS)
    assert 'no chat of Pigeon is called "#market"' in found
    assert "write its id, as orchestrator status shows it" in found
    (bound,) = problems(tmp_path, SECTION, KEYS, "pigeon", chat="ann")
    assert 'no chat of Pigeon is called "ann"' in bound
    assert problems(tmp_path, SECTION, KEYS, "pigeon", chat="ann-7") == []


def test_a_binding_without_its_channel_is_a_warning(tmp_path: Path) -> None:
    """No message would ever come by it."""
    (found,) = problems(tmp_path, None, {}, "pigeon")
    assert "no message comes from Pigeon, because there is no channels.pigeon" in found


def test_a_webhook_may_answer_to_it(tmp_path: Path) -> None:
    """It is known, and missed if it has no section."""
    hook = {"agentId": "a", "secret": "0123456789abcdef", "notifyChat": "pigeon:ann-7"}
    document: dict[str, Any] = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "channels": {"hook": {"incoming": {"gh": hook}}, "pigeon": SECTION},
    }
    path = tmp_path / "agents.json"
    path.write_text(json.dumps(document))
    assert not load(path, KEYS).problems
    hook["notifyChat"] = "pigeon:ann"
    path.write_text(json.dumps(document))
    (found,) = load(path, KEYS).problems
    assert 'no chat of Pigeon is called "ann"' in found.message
    hook["notifyChat"] = "pigeon:ann-7"
    del document["channels"]["pigeon"]
    path.write_text(json.dumps(document))
    (found,) = load(path, KEYS).problems
    assert "webhook 'gh' answers to pigeon, but there is no channels.pigeon" in found.message


def test_a_misspelt_channel_is_named_with_the_nearest(tmp_path: Path) -> None:
    """Hosted channels count among the known ones."""
    path = tmp_path / "agents.json"
    document = {"agents": [{"agentId": "a", "llmProvider": "demo"}], "channels": {"pidgeon": {}}}
    path.write_text(json.dumps(document))
    with pytest.raises(AgentsFileError, match='did you mean "pigeon"'):
        raise AgentsFileError(list(load(path, {}).errors))
