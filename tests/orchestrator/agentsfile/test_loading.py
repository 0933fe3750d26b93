"""Loading agents.json: what is accepted, what is left out and what the messages say."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agentsfile import (
    AgentsFileError,
    LoadedConfig,
    Problem,
    load_agents_file,
    parse_agents_file,
)
from orchestrator.errors import ConfigError, ExitCode

# Texts of agents, right and wrong ones, with values of the environment and with fields twice.
ENTRIES = tuple(
    text
    for name in ("work", "home")
    for text in (
        f'{{"agentId": "{name}", "model": "m"}}',
        f'{{"agentId": "{name}", "model": "m", "maxSteps": 7}}',
        f'{{"agentId": "{name}", "model": "m", "maxSteps": -1}}',
        f'{{"agentId": "{name}", "model": "m", "env": {{"A": "${{KEY}}"}}}}',
        f'{{"agentId": "{name}", "model": "m", "model": "n"}}',
        f'{{"agentId": "{name}", "llmProvider": "own", "model": "m"}}',
    )
)
FILES = st.tuples(
    st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=5),
    st.sampled_from(("", "a", "b")),  # the host of the provider "own"
    st.sampled_from(("", "secret", "another")),  # the value of KEY
)


def test_error_names_file_line_agent_and_what_to_do() -> None:
    """One sentence has all of it."""
    text = (
        b'{\n  "agents": [\n    {"agentId": "ok", "model": "m"},\n    {"agentId": "work"}\n  ]\n}'
    )
    (error,) = parse_agents_file(text).errors
    expected = "agents.json:4: agent 'work' has no model; set \"model\" or remove the agent"
    assert str(error) == expected
    assert (error.agent_id, error.path) == ("work", "agents[1].model")


def test_invalid_agent_is_left_out_and_the_others_stay() -> None:
    """One bad agent changes nothing for the rest."""
    loaded = parsed(WORK, {"agentId": "bad", "model": "m", "maxSteps": 51})
    assert loaded.file.list_enabled_ids() == {"work"}
    assert [error.agent_id for error in loaded.errors] == ["bad"]


def test_all_problems_are_reported_at_once() -> None:
    """A person can correct the file in one pass."""
    bad = {"agentId": "bad", "temperature": 2.1, "maxStep": 3, "costControls": {"enable": True}}
    found = {error.path for error in parsed(WORK, bad).errors}
    assert found == {
        "agents[1].model",
        "agents[1].temperature",
        "agents[1].maxStep",
        "agents[1].costControls.enable",
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"timezone": "warsaw"}, "such as Europe/Warsaw"),
        ({"timezone": "nowhere"}, "such as Europe/Berlin"),
        ({"maxSteps": "8"}, "must be a number without quotes, not '8'"),
        ({"temperature": "hot"}, "must be a valid number, not 'hot'"),
        ({"apiKey": "canary"}, "secrets belong in keys.env in the home"),
        ({"botToken": "canary"}, "secrets belong in keys.env in the home"),
    ],
)
def test_message_says_what_to_write_instead(fields: dict[str, object], message: str) -> None:
    """A wrong value or a field that does not exist is answered with the right one."""
    (error,) = parsed(WORK, {**WORK, "agentId": "bad", **fields}).errors
    assert message in error.message
    assert "canary" not in error.message


def test_misspelt_list_of_agents_is_told_beside_its_absence() -> None:
    """Otherwise the file would be said to have no agents, which its reader sees."""
    with pytest.raises(AgentsFileError) as caught:
        parse_agents_file(b'{\n "agent": [{"agentId": "work"}]\n}')
    assert [str(problem) for problem in caught.value.problems] == [
        'agents.json:2: unknown field "agent"; did you mean "agents"?',
        'agents.json:1: has no agents; add one to "agents"',
    ]


@pytest.mark.parametrize(
    ("field", "near"),
    [("maxStep", "maxSteps"), ("allowed_tools", "allowedTools"), ("modle", "model")],
)
def test_unknown_field_gets_a_did_you_mean(field: str, near: str) -> None:
    """Also for the Python spelling, which the file does not accept."""
    (error,) = parsed(WORK, {"agentId": "bad", "model": "m", field: 1}).errors
    assert error.message.endswith(f'did you mean "{near}"?')


@pytest.mark.parametrize(
    "fields",
    [
        {"agentId": "Upper"},
        {"agentId": "../x"},
        {"agentId": "a" * 65},
        {"model": ""},
        {"maxSteps": "8"},
        {"enabled": 1},
        {"temperature": -0.1},
        {"port": 65536},
        {"idleTimeoutMinutes": 0},
        {"costControls": {"shortWindowMinutes": 31}},
        {"costControls": {"minimumBaselineTokens": 99}},
        {"limits": {"turnMinutes": 121}},
        {"timezone": "Mars/Olympus"},
        {"timezone": "../etc/passwd"},
        {"baseUrl": "ftp://host"},
        {"baseUrl": "http://user:pw@host"},
        {"baseUrl": "http://[::1"},
        {"allowedTools": [""]},
    ],
)
def test_value_out_of_range_is_refused(fields: dict[str, Any]) -> None:
    """Numbers out of range, and text in place of numbers."""
    assert parsed(WORK, {"agentId": "bad", "model": "m"} | fields).errors


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PYTHONPATH", "BASH_ENV", "https_proxy", "GIT_SSH", "THINKER_X", "A-B"]
)
def test_dangerous_variable_is_refused_without_showing_its_value(name: str) -> None:
    """The value may be a secret."""
    (error,) = parsed(WORK, {"agentId": "bad", "model": "m", "env": {name: "canary"}}).errors
    assert name in error.message
    assert "canary" not in error.message


def test_agent_may_carry_only_its_own_providers_key() -> None:
    """An agent never holds the key of a provider that it does not use."""
    env = {"GROQ_API_KEY": "x"}
    assert not parsed(WORK | {"env": env}).errors
    assert parsed(WORK, {"agentId": "b", "model": "m", "llmProvider": "openai", "env": env}).errors


@pytest.mark.parametrize("provider", ["auto", "demo"])
def test_provider_that_chooses_its_model_needs_none(provider: str) -> None:
    """The bundled file relies on it."""
    assert not parsed({"agentId": "a", "llmProvider": provider}).errors


def test_key_that_stands_twice_disables_its_agent() -> None:
    """It is unknown which of the two is right."""
    loaded = parse_agents_file(
        b'{"agents": [{"agentId": "a", "model": "m", "model": "n"}, %s]}'
        % b'{"agentId": "b", "model": "m"}'
    )
    assert loaded.file.list_enabled_ids() == {"b"}
    assert "appears twice" in loaded.errors[0].message


def test_numeric_ids_become_text() -> None:
    """People write chat ids without quotes."""
    binding = {"channel": "telegram", "chatId": -100123, "threadId": 7, "agentId": "work"}
    loaded = parsed(WORK, bindings=[binding])
    assert not loaded.errors
    assert loaded.file.bindings[0].place == "telegram:-100123/7"


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{}", '{"agents": []}', '{"agents": {}}', '{"agents": [1]}', "{", "nul"]
)
def test_file_without_a_usable_agent_is_refused_with_its_problems(text: str) -> None:
    """The daemon then starts from the last good copy."""
    with pytest.raises(AgentsFileError) as caught:
        parse_agents_file(text.encode())
    assert caught.value.problems
    assert isinstance(caught.value, ConfigError)
    assert caught.value.exit_code == ExitCode.CONFIG


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    """A missing file, a directory, a file of another encoding, a huge one."""
    (tmp_path / "latin.json").write_bytes(b'{"agents": "\xe4"}')
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(8 * 1024 * 1024 + 1)
    words = {"none.json": "cannot be read", ".": "cannot be read", "latin.json": "not UTF-8"}
    for name, word in (words | {"huge.json": "larger than 8 MiB"}).items():
        with pytest.raises(AgentsFileError, match=word):
            load_agents_file(tmp_path / name)


def test_digest_changes_with_the_bytes(tmp_path: Path) -> None:
    """Reload asks it whether a file was touched or changed; a byte-order mark is tolerated."""
    path = tmp_path / "agents.json"
    data = json.dumps({"agents": [WORK]}).encode()
    path.write_bytes(data)
    first = load_agents_file(path)
    path.write_bytes(b"\xef\xbb\xbf" + data)
    second = load_agents_file(path)
    assert first.file == second.file
    assert first.data != second.data


def test_ten_thousand_agents_are_read() -> None:
    """They share the table of providers, which would be most of their memory."""
    agents = parsed(
        *(WORK | {"agentId": f"agent-{number}"} for number in range(10_000))
    ).file.agents
    assert (len(agents), len({id(agent.providers) for agent in agents})) == (10_000, 1)


@given(st.lists(FILES, min_size=2, max_size=4))
def test_file_read_after_another_is_as_if_it_were_the_first(
    files: list[tuple[list[str], str, str]],
) -> None:
    """Whatever the edit was, also after a file that is refused."""
    before = None
    for entries, host, key in files:
        own = f'"own": {{"baseUrl": "http://{host}:1/v1"}}' if host else ""
        agents = ",\n".join(entries)
        data = f'{{"agents": [\n{agents}], "providers": {{{own}}}}}'.encode()
        fresh, again = (_read_or_refuse(data, key, known) for known in (None, before))
        assert again == fresh
        before = again.without_values if isinstance(again, LoadedConfig) else before


def _read_or_refuse(
    data: bytes, key: str, before: LoadedConfig | None
) -> LoadedConfig | tuple[Problem, ...]:
    try:
        return parse_agents_file(data, environ={"KEY": key}, before=before)
    except AgentsFileError as error:
        return error.problems


def test_unchanged_agent_is_not_validated_again() -> None:
    """Ten thousand would take a second, and memory for as many new objects."""
    home = WORK | {"agentId": "home"}
    before = parsed(WORK, home)
    text = json.dumps({"agents": [WORK | {"maxSteps": 7}, home]})
    first, second = parse_agents_file(text.encode(), before=before.without_values).file.agents
    assert first is not before.file.agents[0]
    assert second is before.file.agents[1]
