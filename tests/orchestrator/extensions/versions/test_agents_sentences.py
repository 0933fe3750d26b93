"""What an edit of agents.json changes, in sentences."""

import json

import pytest

from orchestrator.extensions.versions.agents_sentences import describe_agents_change
from thinker.protocol.messages import JsonObject

WORK: JsonObject = {"agentId": "work", "llmProvider": "groq", "model": "a"}
HOME: JsonObject = {"agentId": "home", "llmProvider": "demo"}
NINE: JsonObject = {"channel": "telegram", "chatId": "9", "agentId": "work"}


def said(old: JsonObject, new: JsonObject) -> list[str]:
    """The sentences about two files."""
    base: JsonObject = {"agents": [WORK, HOME]}
    return describe_agents_change(json.dumps(base | old), json.dumps(base | new))


def agent(**fields: object) -> JsonObject:
    """A file whose agent ``work`` has these fields too."""
    return json.loads(json.dumps({"agents": [{**WORK, **fields}, HOME]}))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ({}, agent(model="b"), "work: model groq/a → groq/b from its next step"),
        (
            {},
            agent(llmProvider="openai", model="b"),
            "work: model groq/a → openai/b from its next step",
        ),
        ({}, agent(maxSteps=12), "work: maxSteps: 8 (the default) → 12"),
        ({}, agent(enabled=False), "work is switched off: it takes no messages"),
        (agent(enabled=False), {}, "work is switched on: it takes messages"),
        (
            {},
            agent(systemPrompt="You are kind."),
            "work has a base prompt of its own, with 3 words",
        ),
        (
            agent(systemPrompt="You are kind."),
            agent(systemPrompt="You are very kind."),
            "the base prompt of work has 1 word more",
        ),
        ({}, agent(prompt="tea"), "work uses the prompt definition tea"),
        (
            {},
            agent(allowedTools=["read_*"]),
            "work may use only the tools read_*, not every tool",
        ),
        (
            agent(allowedTools=["read_*"]),
            agent(allowedTools=["read_*", "send_mail"]),
            "work may also use send_mail",
        ),
        (agent(allowedTools=["read_*"]), {}, "work may use every tool, not only read_*"),
        ({}, agent(deniedTools=["run"]), "work may not use run any more"),
        (agent(deniedTools=["run"]), {}, "run is not denied to work any more"),
        (
            {},
            agent(approvals=["send_mail"]),
            "work: every call of send_mail waits for an approval",
        ),
        (
            agent(approvals=["send_mail"]),
            {},
            "work: calls of send_mail run without an approval",
        ),
        ({}, agent(skills=[]), "work may use no skill"),
        ({}, agent(budget={"usdPerDay": 1.5}), "work may use at most $1.50 a day"),
        (
            agent(budget={"usdPerDay": 1.5}),
            agent(budget={"usdPerDay": 2}),
            "work may use $2.00 a day instead of $1.50 a day",
        ),
        (
            agent(budget={"tokensPerHour": 5000}),
            {},
            "work has no limit of 5,000 tokens an hour any more",
        ),
        ({}, agent(env={"KEY": "x"}), "work: env.KEY is set"),
        (agent(env={"KEY": "x"}), agent(env={"KEY": "y"}), "work: env.KEY has a new value"),
        (
            {"bindings": [NINE]},
            {"bindings": [{**NINE, "agentId": "home"}]},
            "telegram:9 moves from work to home",
        ),
        ({}, {"bindings": [NINE]}, "telegram:9 goes to work"),
        (
            {"bindings": [NINE]},
            {},
            "telegram:9 does not go to work by a binding any more",
        ),
        (
            {"bindings": [NINE]},
            {"bindings": [{**NINE, "role": "approve"}]},
            "telegram:9: its people may talk and approve calls",
        ),
        ({}, {"fallbackAgentId": "home"}, "chats without a binding go to home; they were refused"),
        (
            {},
            {"mcpServers": {"wiki": {"command": "wiki", "sandbox": {"network": False}}}},
            "server wiki is added; its programs run jailed, without network",
        ),
        (
            {"mcpServers": {"wiki": {"command": "wiki"}}},
            {"mcpServers": {"wiki": {"command": "wiki", "sandbox": "off"}}},
            "server wiki: its programs run without a jail, with all that the daemon's user can"
            " reach; before jailed, with network",
        ),
        (
            {"mcpServers": {"wiki": {"command": "wiki"}}},
            {},
            "server wiki is removed, with all its tools",
        ),
        (
            {"mcpServers": {"wiki": {"url": "http://a", "headers": {"X": "1"}}}},
            {"mcpServers": {"wiki": {"url": "http://b", "headers": {"X": "2"}}}},
            "server wiki: headers.X has a new value",
        ),
        (
            {"channels": {"telegram": {"access": "pairing"}}},
            {"channels": {"telegram": {"access": "open"}}},
            "channels.telegram.access: pairing → open",
        ),
        (
            {"channels": {"telegram": {"allowlist": ["1"]}}},
            {"channels": {"telegram": {"allowlist": ["1", "2"]}}},
            "channels.telegram.allowlist: 2 is added",
        ),
        ({}, {"retention": {"turnDays": 30}}, "retention.turnDays: not set → 30"),
    ],
)
def test_each_change_has_its_sentence(old: JsonObject, new: JsonObject, sentence: str) -> None:
    """As exact as the field, and in words."""
    assert sentence in said(old, new)


def test_new_and_removed_agents_are_introduced() -> None:
    """What a new one may do is what matters."""
    mail = {"agentId": "mail", "llmProvider": "demo", "budget": {"usdPerDay": 0.5}}
    mail |= {"approvals": ["send_mail"]}
    assert said({}, {"agents": [WORK, HOME, mail]}) == [
        "agent mail is new: its model is demo; it may use $0.50 a day; calls of send_mail wait for"
        " an approval"
    ]
    assert said({}, {"agents": [WORK]}) == [
        "agent home is removed: it answers nothing more; its conversations and its memory stay"
        " until: orchestrator forget agent home"
    ]


def test_no_secret_is_in_a_sentence() -> None:
    """Wherever the file has one."""
    secret = "hunter2-hunter2"
    new: JsonObject = {
        "mcpServers": {"wiki": {"command": "w", "env": {"A": secret}, "headers": {"B": secret}}},
        "channels": {"webhooks": {"hooks": {"x": {"secret": secret}}}},
        "variables": {"C": secret},
        "extensions": {"some": {"token": secret, "apiKey": secret}},
        **agent(env={"D": secret}),
    }
    found = said({}, new) + said(new, {})
    assert found
    assert secret not in " ".join(found)


def test_text_that_is_no_json_is_counted_in_words() -> None:
    """An edit in the middle of writing."""
    assert describe_agents_change("{", "{ }") == ["agents.json has 1 word more"]
    assert describe_agents_change(None, json.dumps({"agents": [HOME]})) == [
        "agent home is new: its model is demo"
    ]


def test_equal_files_have_nothing_to_say() -> None:
    """Another layout is no change."""
    file = {"agents": [WORK]}
    assert describe_agents_change(json.dumps(file), json.dumps(file, indent=4)) == []
