"""What joins agents to the world: channels, the order of bindings, keys of models."""

import json
from pathlib import Path

import pytest

from orchestrator.agentsfile import parse

WORK = {"agentId": "work", "llmProvider": "demo"}
HOME = {"agentId": "home", "llmProvider": "demo", "asTool": "handoff"}


def told(
    environ: dict[str, str], agent: dict[str, object] | None = None, **parts: object
) -> list[str]:
    """The warnings about a file with ``work`` or ``agent``, ``home``, and these parts."""
    file = {"agents": [{**WORK, "asTool": "handoff", **(agent or {})}, HOME], **parts}
    loaded = parse(json.dumps(file, indent=1).encode(), environ=environ, home=Path("/h"))
    assert not loaded.errors
    return [problem.message for problem in loaded.problems]


def binding(channel: str, chat: str, agent: str = "work", **more: str) -> dict[str, str]:
    """A binding."""
    return {"channel": channel, "chatId": chat, "agentId": agent, **more}


def test_telegram_without_a_token_is_told() -> None:
    """Only where a binding wants it, and the channel is on."""
    (message,) = told({}, bindings=[binding("console", "*"), binding("telegram", "*")])
    assert message == (
        "no message comes from Telegram, because TELEGRAM_BOT_TOKEN is not set;"
        " put TELEGRAM_BOT_TOKEN=… into /h/keys.env and restart the daemon"
    )
    assert told({}, bindings=[binding("console", "*")]) == []
    assert told({"TELEGRAM_BOT_TOKEN": "1:x"}, bindings=[binding("telegram", "*")]) == []


def test_bot_that_nothing_answers_is_told() -> None:
    """A fallback answers; without the channel there is no bot."""
    token = {"TELEGRAM_BOT_TOKEN": "1:x"}
    (message,) = told(token, bindings=[binding("console", "*")])
    assert "no binding leads from Telegram to an agent, so every message is refused" in message
    assert "1:x" not in message
    assert told(token, fallbackAgentId="work") == []
    broken = {"agents": [{"agentId": "work"}, HOME], "fallbackAgentId": "work"}
    problems = parse(json.dumps(broken).encode(), environ=token).problems
    assert not any("every message is" in problem.message for problem in problems)
    assert told(token, channels={"telegram": {"enabled": False}}) == []


def test_binding_to_a_channel_that_is_off_is_told() -> None:
    """With the line of the binding."""
    off = {"console": {"enabled": False}}
    (message,) = told({}, bindings=[binding("console", "*")], channels=off)
    assert message.startswith(
        "channel 'console' is off, so no message comes by the binding in line 15;"
    )


@pytest.mark.parametrize(
    ("first", "second", "warned"),
    [
        (binding("web", "*"), binding("web", "42", "home"), True),
        (binding("web", "42"), binding("web", "42", "home", threadId="7"), True),
        (binding("web", "42"), binding("web", "*", "home"), False),
        (binding("web", "*"), binding("web", "42"), False),
        (binding("web", "*"), binding("api", "42", "home"), False),
        (binding("web", "42", threadId="7"), binding("web", "42", "home"), False),
        (binding("web", "43"), binding("web", "42", "home", threadId="7"), False),
    ],
)
def test_binding_that_beats_an_earlier_broader_one_is_told(
    first: dict[str, str], second: dict[str, str], *, warned: bool
) -> None:
    """Where the first and the most specific one name different agents."""
    messages = told({}, bindings=[first, second])
    assert any("the most specific one applies and not the first" in m for m in messages) is warned
    assert len(messages) == warned


@pytest.mark.parametrize(
    ("agent", "field"),
    [
        ({"llmProvider": "groq", "model": "m"}, "cannot answer"),
        ({"fallbackModels": ["groq/m"]}, 'cannot use its "fallbackModels"'),
        ({"smallModel": "groq/m"}, 'cannot use its "smallModel"'),
    ],
)
def test_missing_key_of_a_model_is_told_with_its_file(agent: dict[str, object], field: str) -> None:
    """Set in the environment or for the agent alone, it is there."""
    (message,) = told({}, agent)
    assert message == (
        f"agent 'work' {field}, because GROQ_API_KEY is not set;"
        " put GROQ_API_KEY=… into /h/keys.env and run: orchestrator reload"
    )
    assert told({"GROQ_API_KEY": "k"}, agent) == []
