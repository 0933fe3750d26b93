"""Models of voice and pictures in agents.json: what is taken, and what is said of the rest."""

import json
from typing import Any

import pytest

from orchestrator.agentsfile import AgentsFileError, parse_agents_file
from orchestrator.agentsfile.model_costs import list_models

AGENT = {"agentId": "work", "llmProvider": "ollama", "model": "m"}
PLACE = {"model": "x", "provider": "openai"}


def file(**fields: Any) -> bytes:
    """An agents.json whose agent has these fields."""
    bindings = [{"channel": "console", "chatId": "*", "agentId": "work"}]
    return json.dumps({"agents": [AGENT | fields], "bindings": bindings}).encode()


def problems(environ: dict[str, str], **fields: Any) -> list[str]:
    """All that is said of the file but that, without its agent, a binding leads nowhere."""
    try:
        found = parse_agents_file(file(**fields), environ=environ).problems
    except AgentsFileError as error:
        found = tuple(error.problems)
    return [problem.message for problem in found if not problem.message.startswith("binding")]


def test_models_are_found_with_their_defaults() -> None:
    """Answers to voice messages are spoken, in the format that Telegram shows."""
    voice = {"hear": PLACE, "speak": {**PLACE, "voice": "alloy"}}
    images = {"model": "y", "baseUrl": "http://a/v1"}
    (agent,) = parse_agents_file(file(voice=voice, images=images)).file.agents
    assert agent.voice is not None
    assert agent.voice.speak is not None
    assert (agent.voice.speak.when, agent.voice.speak.format) == ("voice", "opus")
    assert agent.images is not None
    assert agent.images.sizes.tall == "1024x1536"
    assert list_models(agent) == ["ollama/m", "openai/x", "custom/y"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"voice": {"hear": {"model": "x"}}}, 'needs "provider" or "baseUrl"'),
        ({"voice": {"speak": PLACE}}, 'set "voice.speak.voice"'),
        ({"voice": {"hear": {**PLACE, "language": "german"}}}, "the code of a language"),
        (
            {"voice": {"speak": {**PLACE, "voice": "v", "when": "often"}}},
            "must be 'voice', 'always' or 'never', not 'often'",
        ),
        ({"voice": {"listen": PLACE}}, 'unknown field "voice.listen"'),
        ({"images": {**PLACE, "sizes": {"tall": "big"}}}, "such as \"1024x1536\", not 'big'"),
        ({"images": {**PLACE, "provider": "anthropic"}}, "must be a provider that has drawing"),
        ({"env": {"GROQ_API_KEY": "k"}, "images": PLACE}, "it is the key of another provider"),
        ({"images": {**PLACE, "baseUrl": "http://${HOST}/v1"}}, "takes HOST, which is not set"),
    ],
)
def test_wrong_setting_is_told_with_its_place(fields: dict[str, Any], said: str) -> None:
    """And with what would be right."""
    told = problems({"OPENAI_API_KEY": "k"}, **fields)
    assert len(told) == 1
    assert said in told[0]
