"""Accounts of a chat system: each is a channel, and what is wrong with one is said.

The chat system is an invented one: each of the real ones could be deleted.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.installed_extensions import install_extensions
from fakes.pigeon import write_pigeon_folder

from orchestrator.agentsfile.chat_ids import check_chat_id
from orchestrator.agentsfile.loading import LoadedConfig, parse_agents_file
from orchestrator.inbound.admission import LOCAL
from orchestrator.routing import match_binding
from thinker.protocol.names import ChatName

SECTION = {"loft": "https://m.example", "ring": "bot-1"}
KEYS = {"PIGEON_TOKEN": "first", "PIGEON_TOKEN_WORK": "second"}
WORK = {"channel": "pigeon", "account": "work", "chatId": "*", "agentId": "a"}
DEFAULT = {"channel": "pigeon", "chatId": "*", "agentId": "b"}


@pytest.fixture(autouse=True)
def pigeon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel host with pigeons."""
    install_extensions(monkeypatch, channels={"pigeon": write_pigeon_folder(tmp_path)})


def load(
    section: Any, *bindings: Any, environ: dict[str, str] | None = None, **fields: Any
) -> LoadedConfig:
    """A file with this section of pigeons, and with the console bound."""
    names = ("a", "b")
    document = {
        "agents": [{"agentId": name, "llmProvider": "demo"} for name in names],
        "bindings": [
            *bindings,
            *({"channel": "console", "chatId": name, "agentId": name} for name in names),
        ],
        "channels": {"pigeon": section},
        **fields,
    }
    text = json.dumps(document, indent=1).encode()
    return parse_agents_file(text, environ=KEYS if environ is None else environ)


def told(found: LoadedConfig) -> list[str]:
    """What is wrong with the file, without lines."""
    return [f"{problem.severity}: {problem.message}" for problem in found.problems]


def test_account_is_a_channel_with_the_settings_that_it_does_not_change() -> None:
    """Bindings with the account lead from it, those without from the default one."""
    account = {"ring": "bot-2", "access": "allowlist", "allowlist": ["ann-7"]}
    found = load({**SECTION, "accounts": {"work": account}}, WORK, DEFAULT)
    assert told(found) == []
    own, work = (found.file.channels.hosted_channels[name] for name in ("pigeon", "pigeon@work"))
    assert (own.access, work.access, work.allowlist) == ("pairing", "allowlist", ("ann-7",))
    assert work.__pydantic_extra__ == {"loft": "https://m.example", "ring": "bot-2"}
    assert set(found.file.channels.list_chat_channels()) - {"telegram"} == {
        "pigeon",
        "pigeon@work",
    }
    for channel, agent in (("pigeon", "b"), ("pigeon@work", "a")):
        binding = match_binding(found.file.bindings, ChatName(channel, "ann-7"))
        assert binding is not None
        assert (binding.agent_id, binding.place) == (agent, f"{channel}:*")
    assert "pigeon@work" not in LOCAL


def test_change_of_the_channel_changes_its_accounts() -> None:
    """What an account does not set itself is the channel's."""
    found = load({**SECTION, "access": "open", "accounts": {"work": {}}}, environ={})
    assert found.file.channels.list_chat_channels()["pigeon@work"].access == "open"


def test_name_of_an_account_may_be_written_in_the_channel_of_a_binding() -> None:
    """As `status` shows it."""
    found = load(
        {**SECTION, "accounts": {"work": {"ring": "bot-2"}}},
        {"channel": "pigeon@work", "chatId": "ann-7", "agentId": "a"},
        DEFAULT,
    )
    assert told(found) == []


@pytest.mark.parametrize("field", ["account", "channel"])
def test_account_that_does_not_exist_is_an_error_with_the_near_name(field: str) -> None:
    """In either spelling of the binding; without a near one, it says what to add."""
    binding = {**WORK, "account": "wrok"}
    if field == "channel":
        binding = {"channel": "pigeon@wrok", "chatId": "*", "agentId": "a"}
    accounts = {"work": {"ring": "bot-2"}}
    assert told(load({**SECTION, "accounts": accounts}, binding, WORK, DEFAULT)) == [
        (
            "error: binding pigeon@wrok:* names the account 'wrok', which channels.pigeon.accounts"
            ' does not have; did you mean "work"?'
        )
    ]
    (message,) = told(load(SECTION, binding, DEFAULT, environ={"PIGEON_TOKEN": "first"}))
    assert message.endswith('add "wrok": {} there, or remove the binding')


@pytest.mark.parametrize("name", ["Work", "a b", "", "a@b", "-x", "a" * 33, "a/b", "ä", "work\n"])
def test_name_with_other_characters_is_an_error(name: str) -> None:
    """The name becomes a part of addresses and of a variable."""
    found = load({**SECTION, "accounts": {name: {}}}, DEFAULT, environ={"PIGEON_TOKEN": "first"})
    (message,) = told(found)
    assert "must be 1 to 32 lower-case letters" in message
    assert found.file.channels.hosted_channels.keys() == {"pigeon"}


def test_field_of_an_account_is_checked_at_its_place() -> None:
    """A wrong one switches off that account alone, with its own line."""
    accounts = {"work": {"ring": "x"}, "home": {"ring": "bot-3"}, "old": {"accounts": {}}}
    found = load({**SECTION, "accounts": accounts}, DEFAULT, environ={"PIGEON_TOKEN": "first"})
    wrong = {problem.path: problem for problem in found.errors}
    assert wrong.keys() == {
        "channels.pigeon.accounts.work.ring",
        "channels.pigeon.accounts.old.accounts",
    }
    place = wrong["channels.pigeon.accounts.work.ring"]
    assert (
        found.document.find_line(("channels", "pigeon", "accounts", "work", "ring")) == place.line
    )
    assert "channel 'pigeon@work': \"ring\" must be a ring" in place.message
    on = {name for name, one in found.file.channels.hosted_channels.items() if one.enabled}
    assert on == {"pigeon", "pigeon@home"}


def test_account_without_its_secret_is_told_with_the_variable() -> None:
    """A hyphen of the name is an underscore of the variable."""
    accounts = {"my-work": {"ring": "bot-2"}}
    messages = told(
        load({**SECTION, "accounts": accounts}, DEFAULT, environ={"PIGEON_TOKEN": "first"})
    )
    (message,) = messages
    assert message.startswith(
        "warning: Pigeon (pigeon@my-work) is off: PIGEON_TOKEN_MY_WORK is not set"
    )


def test_default_account_that_nobody_asks_for_is_off_without_a_word() -> None:
    """Only named ones are meant: no secret of its own, and no binding without an account."""
    found = load(
        {"loft": "https://m.example", "accounts": {"work": {"ring": "bot-2"}}},
        WORK,
        environ={"PIGEON_TOKEN_WORK": "second"},
    )
    assert told(found) == []
    assert not found.file.channels.is_on("pigeon")
    assert found.file.channels.is_on("pigeon@work")


def test_binding_without_an_account_means_the_default_one() -> None:
    """If it has no secret, the advice names the accounts that there are."""
    accounts = {"work": {"ring": "bot-2"}}
    (message,) = told(
        load(
            {**SECTION, "accounts": accounts},
            WORK,
            DEFAULT,
            environ={"PIGEON_TOKEN_WORK": "second"},
        )
    )
    assert message.startswith("warning: Pigeon is off: PIGEON_TOKEN is not set")
    assert message.endswith('; or set "account" in the binding: "work"')


def test_ids_of_an_account_are_those_of_its_chat_system() -> None:
    """Wherever a setting names a chat."""
    assert check_chat_id("pigeon@work", "ann-7") is None
    assert 'no chat of Pigeon is called "ann"' in str(check_chat_id("pigeon@work", "ann"))


def test_accounts_of_an_unreadable_channel_are_not_called_missing() -> None:
    """The mistake in its section is told alone."""
    broken = {**SECTION, "access": "nobody", "accounts": {"work": {"ring": "bot-2"}}}
    (message,) = told(load(broken, WORK, DEFAULT, environ={"PIGEON_TOKEN_WORK": "second"}))
    assert "access" in message
