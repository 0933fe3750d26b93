"""`${NAME}` in agents.json: where it is filled in, and what is told when it cannot be."""

import json
from pathlib import Path

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import AgentsFileError, load_agents_file, parse_agents_file
from orchestrator.processes.launch import build_launch_spec, resolve_endpoint
from orchestrator.settings import Settings

KEYS = {"DEEPSEEK_KEY": "sk-deep", "MISTRAL_KEY": "sk-mistral", "HOST": "h.example"}


def vendor(agent_id: str, host: str, key: str) -> dict[str, object]:
    """An agent of a vendor that speaks OpenAI's API."""
    return {
        "agentId": agent_id,
        "llmProvider": "openai",
        "model": "m",
        "baseUrl": f"https://{host}/v1",
        "env": {"OPENAI_API_KEY": key},
    }


def text(*agents: object, **fields: object) -> bytes:
    """A file with a line for each of its parts."""
    return json.dumps({"agents": agents, **fields}, indent=1).encode()


def test_two_vendors_of_one_api_have_keys_that_the_file_does_not_hold(tmp_path: Path) -> None:
    """Each key goes to the broker for its own agent, and the bytes to keep have the names."""
    agents = (
        vendor("d", "api.deepseek.com", "${DEEPSEEK_KEY}"),
        vendor("m", "api.mistral.ai", "${MISTRAL_KEY}"),
    )
    loaded = parse_agents_file(text(*agents), environ=KEYS)
    assert not loaded.errors
    assert b"sk-" not in loaded.data
    assert loaded.secrets == ()
    settings = Settings(home=tmp_path)
    granted = {}
    for agent in loaded.file.agents:
        endpoint = resolve_endpoint(agent, KEYS, ())
        spec = build_launch_spec(agent, settings, endpoint, KEYS)
        granted[agent.agent_id] = [
            (grant.url, grant.secrets) for grant in spec.grants if not grant.probe
        ]
        assert "sk-" not in str(spec.env)
    assert granted == {
        "d": [("https://api.deepseek.com/v1/chat/completions", ("sk-deep",))],
        "m": [("https://api.mistral.ai/v1/chat/completions", ("sk-mistral",))],
    }


def test_every_place_of_a_secret_or_an_address_is_filled_and_no_other() -> None:
    """A prompt may speak of such names; a part of a text may be filled."""
    agent = vendor("a", "${HOST}", "x${DEEPSEEK_KEY}y") | {
        "systemPrompt": "${HOST}",
        "embeddings": {"model": "e", "baseUrl": "https://${HOST}/e"},
    }
    servers = {
        "w": {"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${MISTRAL_KEY}"}},
        "c": {"command": "c", "env": {"K": "${MISTRAL_KEY}"}},
    }
    models = {"n": {"provider": "openai", "model": "m", "baseUrl": "https://${HOST}/m"}}
    file = parse_agents_file(text(agent, mcpServers=servers, models=models), environ=KEYS).file
    found = file.agents[0]
    assert (found.base_url, found.env) == ("https://h.example/v1", {"OPENAI_API_KEY": "xsk-deepy"})
    assert found.system_prompt == "${HOST}"
    assert found.embeddings is not None
    assert found.embeddings.base_url == "https://h.example/e"
    assert file.mcp_servers["w"].url == "https://h.example/mcp"
    assert file.mcp_servers["w"].headers == {"Authorization": "Bearer sk-mistral"}
    assert file.mcp_servers["c"].env == {"K": "sk-mistral"}
    assert file.models["n"].base_url == "https://h.example/m"


def test_doubled_dollar_is_a_literal() -> None:
    """A dollar without a brace is one, too."""
    loaded = parsed(WORK | {"env": {"A": "$${HOST}", "B": "$HOST$", "C": "$$${HOST}"}})
    assert loaded.file.agents[0].env == {"A": "${HOST}", "B": "$HOST$", "C": "$${HOST}"}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("${NONE}", "takes NONE, which is not set; add it to keys.env"),
        ("${EMPTY}", "takes EMPTY, which is not set; add it to keys.env"),
        ("${A:-b}", "has a ${ without a name and }"),
        ("${", "has a ${ without a name and }"),
        ("${}", "has a ${ without a name and }"),
        ("${HOST", "has a ${ without a name and }"),
    ],
)
def test_value_that_cannot_be_filled_is_an_error_with_its_line(value: str, said: str) -> None:
    """One error for one value; the agent is left out, and the others stay."""
    loaded = parse_agents_file(
        text(WORK, vendor("v", "h", value) | {"agentId": "v"}), environ={**KEYS, "EMPTY": ""}
    )
    (error,) = loaded.errors
    assert loaded.file.list_enabled_ids() == {"work"}
    assert (error.agent_id, error.path) == ("v", "agents[1].env.OPENAI_API_KEY")
    line = loaded.data.decode().splitlines()[error.line - 1]
    assert value in line
    assert error.message.startswith(f"agent 'v': \"env.OPENAI_API_KEY\" {said}")


def test_address_that_cannot_be_filled_is_told_once() -> None:
    """That nothing is no address need not be told as well."""
    server = {"url": "${NONE}"}
    loaded = parse_agents_file(text(WORK, mcpServers={"s": server}), environ={})
    (error,) = loaded.errors
    assert error.message.startswith("MCP server 's': \"url\" takes NONE")
    assert loaded.file.mcp_servers == {}


def test_value_is_in_no_message(tmp_path: Path) -> None:
    """Also if it makes its field invalid."""
    path = tmp_path / "agents.json"
    path.write_bytes(text(WORK | {"baseUrl": "${CANARY}"}))
    with pytest.raises(AgentsFileError) as caught:
        load_agents_file(path, {"CANARY": "canary"})
    assert "must be an http or https URL" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_secret_in_the_file_itself_is_noted_and_a_name_is_not() -> None:
    """Others may read the names of variables."""
    server = {"command": "c", "env": {"K": "plain"}}
    agents = (WORK | {"env": {"K": "${HOST}"}}, WORK | {"agentId": "b", "env": {"K": "plain"}})
    loaded = parse_agents_file(text(*agents, mcpServers={"s": server}), environ=KEYS)
    assert loaded.secrets == ("env of agent 'b'", "env of MCP server 's'")


def test_name_in_an_argument_gets_a_warning() -> None:
    """Other users of the machine can read arguments, so they are taken as they are."""
    loaded = parse_agents_file(
        text(WORK, mcpServers={"s": {"command": "c", "args": ["--key", "${HOST}"]}}), environ=KEYS
    )
    assert loaded.file.mcp_servers["s"].args == ("--key", "${HOST}")
    (warning,) = [p for p in loaded.problems if p.path == "mcpServers.s.args[1]"]
    assert warning.severity == "warning"
    assert '"env"' in warning.message
