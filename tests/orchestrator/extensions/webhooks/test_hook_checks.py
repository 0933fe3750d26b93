"""Wrong settings of webhooks are told with what to do, and without the secret."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK
from fakes.installed_extensions import install_extensions
from fakes.pigeon import write_pigeon_folder

from orchestrator.agentsfile import LoadedConfig, parse_agents_file
from orchestrator.extensions.webhooks.extension import WebhooksExtension
from orchestrator.extensions.webhooks.hook_settings import HookChannel

SECRET = "0123456789abcdef"
GOOD = {"agentId": "work", "secret": "${HOOK_SECRET}"}


def loaded(hook: dict[str, Any], name: str = "gh", **rest: Any) -> LoadedConfig:
    """A file with one incoming webhook."""
    channels: dict[str, Any] = rest.pop("channels", {})
    channels = {**channels, "hook": {"incoming": {name: hook}, **channels.get("hook", {})}}
    file = {"agents": [WORK], "channels": channels, **rest}
    return parse_agents_file(
        json.dumps(file).encode(), environ={"HOOK_SECRET": SECRET, "SHORT": "abc"}
    )


def told(found: LoadedConfig) -> list[str]:
    """The problems that are about webhooks."""
    texts = [problem.message for problem in found.problems]
    return [text for text in texts if "webhook" in text or "hook" in text]


def test_secret_comes_from_the_environment_and_is_never_told() -> None:
    """One that stands in the file counts as a secret of the file."""
    found = loaded(GOOD)
    assert told(found) == []
    assert found.secrets == ()
    hook = found.file.channels.get_settings(HookChannel).incoming["gh"]
    assert hook.secret == SECRET
    assert SECRET not in repr(found.file)
    assert loaded({**GOOD, "secret": SECRET}).secrets == ("secret of webhook 'gh'",)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"agentId": "wrok"}, "names the unknown agent 'wrok'; did you mean \"work\"?"),
        ({"secret": "${NONE}"}, '"secret" takes NONE, which is not set; add it to keys.env'),
        ({"secret": "${SHORT}"}, "has a secret that can be guessed; make one with: openssl"),
        ({"secret": ""}, "must have at least 1 character"),
        ({"template": "{{ a"}, "has a {{ or }} without a path"),
        ({"template": "{{ a b }}"}, "has 'a b', which is not a path; write one such as"),
        ({"only": {"": ["x"]}}, "must have at least 1 character"),
        ({"only": {"a b": ["x"]}}, "has 'a b', which is not a path"),
        ({"idHeader": "X Id"}, 'must be the name of a header, such as "X-Forwarded-Email"'),
        (
            {"idHeader": "Transfer-Encoding"},
            "must not be Transfer-Encoding, which HTTP itself sets",
        ),
        (
            {"signature": {"header": "host"}},
            "webhook 'gh': \"signature.header\" must not be host, which",
        ),
        ({"notifyChat": "42"}, "'42' is not a chat; write its channel and id"),
        ({"notifyChat": "telegarm:42"}, 'unknown channel "telegarm"; did you mean "telegram"?'),
        ({"signature": {"toleranceSeconds": 9}}, 'has "toleranceSeconds", which the style "body"'),
        ({"signature": {"style": "timestamp", "prefix": ""}}, 'has "prefix", which the style'),
        ({"signature": {"style": "rsa"}}, "must be 'body' or 'timestamp', not 'rsa'"),
        ({"temlate": "x"}, 'unknown field "temlate"; did you mean "template"?'),
    ],
)
def test_each_wrong_setting_says_what_to_do(fields: dict[str, Any], problem: str) -> None:
    """In one sentence, and on its line."""
    found = loaded({**GOOD, **fields})
    (text,) = told(found)
    assert problem in text
    assert SECRET not in text
    assert "abc" not in text


def test_settings_without_effect_are_told() -> None:
    """Endpoints that are off, a binding, an agent that is off or has one memory for all."""
    off = {**WORK, "enabled": False, "memory": "agent"}
    bound = [{"channel": "hook", "chatId": "gh", "agentId": "work"}]
    found = loaded(GOOD, agents=[off], bindings=bound, channels={"api": {"enabled": False}})
    text = "\n".join(told(found))
    assert "channel 'api' is off, so webhooks are off, too" in text
    assert "binding hook:gh has no effect" in text
    assert "leads to the disabled agent 'work'" in text
    assert "brings text of strangers to agent 'work', which has one memory for all chats" in text


def test_webhook_whose_name_is_no_part_of_a_path_is_refused() -> None:
    """Its endpoint could not be named."""
    assert "must be 1 to 64 letters" in " ".join(told(loaded(GOOD, "a/b")))


@pytest.mark.parametrize(
    "wrong",
    [{"template": "{{"}, {"secret": "${NONE}"}, {"notifyChat": "5"}, {"only": []}, {"x": 1}],
)
def test_wrong_webhook_leaves_the_others_on(wrong: dict[str, Any]) -> None:
    """It alone is off, and has one error."""
    both = {"good": GOOD, "bad": {**GOOD, **wrong}}
    found = loaded(GOOD, channels={"hook": {"incoming": both, **with_outgoing()["hook"]}})
    hooks = found.file.channels.get_settings(HookChannel)
    assert (hooks.enabled, [*hooks.incoming], [*hooks.outgoing]) == (True, ["good"], ["deploys"])
    (error,) = found.errors
    assert error.path.startswith("channels.hook.incoming.bad")
    assert found.has_value_at(("channels", "hook", "incoming", "bad"))
    assert not found.has_value_at(("channels", "hook", "incoming", "gh"))


def test_webhook_that_is_left_out_is_not_said_to_be_missing() -> None:
    """Where an answer goes to it: its error is told."""
    found = loaded({**GOOD, "notifyChat": "hook:deploys"}, channels=with_outgoing(url="ftp://x"))
    (text,) = told(found)
    assert text.startswith("webhook 'deploys': \"url\" must be")


@pytest.mark.parametrize("section", [{"incomming": {}}, {"enabled": 1}, {"outgoing": []}, []])
def test_error_of_the_channel_itself_switches_it_off_or_leaves_out_a_part(section: Any) -> None:
    """It is told once."""
    file = {"agents": [WORK], "channels": {"hook": section}}
    found = parse_agents_file(json.dumps(file).encode(), environ={})
    (error,) = found.errors
    assert "channel" in error.message
    assert not found.file.channels.get_settings(HookChannel).outgoing


def test_webhook_that_stands_twice_is_left_out() -> None:
    """Either could be meant."""
    text = json.dumps({"agents": [WORK], "channels": {"hook": {"incoming": {"gh": GOOD}}}})
    twice = text.replace('"gh":', f'"gh": {json.dumps(GOOD)}, "ok": {json.dumps(GOOD)}, "gh":')
    found = parse_agents_file(twice.encode(), environ={"HOOK_SECRET": SECRET})
    assert [error.message for error in found.errors] == [
        "webhook 'gh': \"gh\" appears twice; remove one"
    ]
    assert [*found.file.channels.get_settings(HookChannel).incoming] == ["ok"]


def test_agent_of_a_webhook_needs_no_binding() -> None:
    """Messages reach it."""
    assert not [p for p in loaded(GOOD).problems if "no binding leads to" in p.message]


URL = "https://receiver.example/key"
SENT = {"url": URL, "secret": "${HOOK_SECRET}"}


def with_outgoing(**fields: Any) -> dict[str, Any]:
    """Channels with the webhook ``deploys``, which is sent to a server."""
    return {"hook": {"outgoing": {"deploys": {**SENT, **fields}}}}


def test_address_and_headers_are_filled_in_and_never_told() -> None:
    """Either may be a secret."""
    fields = {"url": "https://x.example/${HOOK_SECRET}", "headers": {"X-Key": "${HOOK_SECRET}"}}
    found = loaded(GOOD, channels=with_outgoing(**fields))
    assert told(found) == []
    sent = found.file.channels.get_settings(HookChannel).outgoing["deploys"]
    assert (sent.url, sent.headers) == (f"https://x.example/{SECRET}", {"X-Key": SECRET})
    assert SECRET not in repr(found.file)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"url": "ftp://x"}, "webhook 'deploys': \"url\" must be an http or https URL"),
        ({"url": "http://x.example/"}, "sends what agents say unencrypted to x.example; use https"),
        ({"secret": "${SHORT}"}, "has a secret that can be guessed"),
        ({"secret": None, "signature": {}}, 'signs nothing without a "secret"'),
        ({"textField": "id"}, 'has no text, as "id" has another meaning'),
        ({"headers": {"a b": "x"}}, "must be the name of a header"),
        ({"headers": {"Content-Length": "3"}}, "must not set Content-Length, which follows from"),
        ({"headers": {"X-Key": "a\nb"}}, "has a value of X-Key that no request can carry"),
        ({"idHeader": "Content-Length"}, "must not be Content-Length, which HTTP itself sets"),
        ({"signature": {"header": "Content-Type"}}, "must not be Content-Type, which HTTP itself"),
        (
            {"signature": {"prefix": "a\nb"}},
            '"signature.prefix" is a text that no',
        ),
        ({"signature": {"prefix": " a"}}, "no request can carry; write it in one line, without a"),
        ({"url": "https://u:p@x.example"}, "user name or password; keys belong in keys.env"),
    ],
)
def test_each_wrong_setting_of_an_outgoing_one_says_what_to_do(
    fields: dict[str, Any], problem: str
) -> None:
    """In one sentence."""
    (text,) = told(loaded(GOOD, channels=with_outgoing(**fields)))
    assert problem in text


def test_chat_of_a_webhook_that_is_not_there_is_told() -> None:
    """Where an answer goes to it, and an alert."""
    alerted = {**WORK, "costControls": {"notifyChannel": "hook", "notifyChatId": "deploy"}}
    found = loaded({**GOOD, "notifyChat": "hook:deploy"}, agents=[alerted])
    assert sorted(text.partition(";")[0] for text in told(found)) == [
        "agent 'work' names the webhook 'deploy', which is not in channels.hook.outgoing",
        "webhook 'gh' names the webhook 'deploy', which is not in channels.hook.outgoing",
    ]


def test_alerts_to_a_channel_that_is_not_there_are_told() -> None:
    """They would not arrive."""
    alerted = {**WORK, "costControls": {"notifyChannel": "telegrm", "notifyChatId": "5"}}
    found = loaded(GOOD, agents=[alerted])
    (text,) = [problem.message for problem in found.problems if "alerts" in problem.message]
    assert text == (
        'agent \'work\' sends alerts to the unknown channel "telegrm"; did you mean "telegram"?'
    )


def test_webhook_may_answer_to_a_channel_of_the_channel_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known, and missed if it has no section."""
    folder = write_pigeon_folder(tmp_path)
    install_extensions(monkeypatch, own=(WebhooksExtension(),), channels={"pigeon": folder})
    loft = {"loft": "https://m.example", "ring": "bot-1"}

    def problems(chat: str, **sections: object) -> list[str]:
        hook = {"agentId": "work", "secret": SECRET, "notifyChat": chat}
        channels = {"hook": {"incoming": {"gh": hook}}, **sections}
        file = {"agents": [WORK], "channels": channels}
        found = parse_agents_file(json.dumps(file).encode()).problems
        return [problem.message for problem in found if "igeon" in problem.message]

    assert problems("pigeon:ann-7", pigeon=loft) == []
    (unknown,) = problems("pigeon:ann", pigeon=loft)
    assert 'no chat of Pigeon is called "ann"' in unknown
    (absent,) = problems("pigeon:ann-7")
    assert "webhook 'gh' answers to pigeon, but there is no channels.pigeon" in absent


def test_webhooks_without_the_http_api_are_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its endpoints take them."""
    install_extensions(monkeypatch, own=(WebhooksExtension(),))
    hook = {"agentId": "work", "secret": SECRET}
    file = {"agents": [WORK], "channels": {"hook": {"incoming": {"gh": hook}}}}
    (problem,) = parse_agents_file(json.dumps(file).encode()).problems
    assert problem.message.startswith(
        "webhooks are off: channels.api needs the extension 'http_api'"
    )
