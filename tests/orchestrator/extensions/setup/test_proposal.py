"""The agents.json that setup proposes: short if new, otherwise the old one and what is asked."""

import json

import pytest

from orchestrator.agentsfile import parse_agents_file
from orchestrator.errors import ConfigError
from orchestrator.extensions.setup.model_account import find_account
from orchestrator.extensions.setup.proposal import (
    SetupChoices,
    find_access,
    format_difference,
    propose_text,
)
from orchestrator.home_paths import find_bundled_path

GROQ = SetupChoices("home", find_account("groq"), "m", telegram=True)
MINE = """{
    "agents": [{"agentId": "home",
                "llmProvider": "groq", "model": "m", "systemPrompt": "Mine."}],
    "bindings": [{"channel": "telegram", "chatId": 7, "agentId": "home"},
                 {"channel": "console", "chatId": "*", "agentId": "home"}],
    "channels": {"telegram": {"access": "allowlist", "allowlist": [7]}}
}
"""


def test_new_file_is_short_and_sound() -> None:
    """It names its schema, and leads the bot and the console to the agent."""
    text = propose_text(None, GROQ)
    assert not parse_agents_file(
        text.encode(), environ={"GROQ_API_KEY": "k", "TELEGRAM_BOT_TOKEN": "1:a"}
    ).problems
    assert len(text.splitlines()) <= 12
    value = json.loads(text)
    assert value["$schema"] == "./agents.schema.json"
    assert [binding["channel"] for binding in value["bindings"]] == ["telegram", "console"]


def test_nothing_changes_where_nothing_is_missing() -> None:
    """A second run writes the same bytes."""
    for text in (MINE, propose_text(None, GROQ)):
        assert propose_text(text, GROQ) == text
    allowing = SetupChoices("home", None, "", telegram=True, allow=("7",))
    assert propose_text(MINE, allowing) == MINE


def test_another_model_changes_its_own_lines() -> None:
    """The difference shows them and no others."""
    text = propose_text(MINE, SetupChoices("home", find_account("groq"), "other"))
    assert text == MINE.replace('"model": "m"', '"model": "other"')
    shown = format_difference(MINE, text).splitlines()
    assert [line[0] for line in shown] == [" ", "-", "+", " "]


def test_another_agent_and_another_chat_are_added() -> None:
    """Those that are there stay."""
    text = propose_text(
        MINE, SetupChoices("b", find_account("demo"), "", telegram=True, allow=("7", "8"))
    )
    value = json.loads(text)
    assert value["agents"] == [*json.loads(MINE)["agents"], {"agentId": "b", "llmProvider": "demo"}]
    assert value["channels"]["telegram"]["allowlist"] == [7, "8"]
    assert value["bindings"] == json.loads(MINE)["bindings"]


def test_who_may_write_is_changed_only_if_it_is_asked() -> None:
    """Pairing is the usual way, so a new file need not name it."""
    assert (
        find_access(propose_text(MINE, SetupChoices("home", None, "", telegram=True)))
        == "allowlist"
    )
    paired = SetupChoices("home", None, "", telegram=True, allow=("pairing",))
    assert find_access(propose_text(MINE, paired)) == "pairing"
    assert "channels" not in propose_text(None, paired)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"baseUrl": "http://127.0.0.1:1/v1"}, '"baseUrl"'),
        ({"env": {"OPENAI_API_KEY": "k"}}, "OPENAI_API_KEY"),
    ],
)
def test_agent_is_not_led_elsewhere_with_the_address_or_key_of_another_model(
    own: dict[str, object], said: str
) -> None:
    """What a person wrote is not dropped, and a mixture would not work."""
    agent = {"agentId": "home", "llmProvider": "openai", "model": "m", **own}
    with pytest.raises(ConfigError, match="--agent") as caught:
        propose_text(json.dumps({"agents": [agent]}), GROQ)
    assert said in str(caught.value)


def test_bundled_file_becomes_one_with_a_model() -> None:
    """As `init` wrote it."""
    text = (find_bundled_path("config") / "agents.json").read_text("utf-8")
    after = propose_text(
        text, SetupChoices("assistant", find_account("gemini"), "g", telegram=True)
    )
    assert not parse_agents_file(after.encode(), environ={"GEMINI_API_KEY": "k"}).errors


def test_file_that_is_no_object_is_refused() -> None:
    """And not overwritten."""
    with pytest.raises(ConfigError, match="correct it"):
        propose_text("[]", GROQ)


def test_second_bot_is_an_account_with_a_binding() -> None:
    """The first one and its allow-list stay; a second run changes nothing."""
    wishes = SetupChoices(
        "work", find_account("demo"), "", telegram=True, allow=("8",), bot_account="work"
    )
    with_fallback = MINE.replace('"channels"', '"fallbackAgentId": "home",\n    "channels"')
    for before in (MINE, with_fallback, MINE.replace(', "allowlist": [7]', "")):
        text = propose_text(before, wishes)
        assert propose_text(text, wishes) == text
        value, old = json.loads(text), json.loads(before)
        telegram = value["channels"]["telegram"]
        account = telegram.pop("accounts")["work"]
        assert account == {"access": "allowlist", "allowlist": ["8"]}
        assert telegram == old["channels"]["telegram"]
        assert value["bindings"] == [
            *old["bindings"],
            {"channel": "telegram", "account": "work", "chatId": "*", "agentId": "work"},
        ]
        assert (find_access(text), find_access(text, "work")) == ("allowlist", "allowlist")
    new = json.loads(
        propose_text(None, SetupChoices("a", None, "", telegram=True, bot_account="work"))
    )
    assert new["channels"] == {"telegram": {"accounts": {"work": {}}}}
    assert find_access(json.dumps({"channels": {"telegram": {"access": "open"}}}), "x") == "open"
