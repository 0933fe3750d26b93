"""`orchestrator route explain`."""

import json
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.journal import job, opened

from orchestrator.agentsfile.channel_kinds import load_channel_kinds
from orchestrator.errors import ExitCode
from orchestrator.journal.access import pairing
from orchestrator.journal.turns import chat_moves
from orchestrator.journal.turns.outbox import Address

AGENTS = [
    {"agentId": "work", "llmProvider": "demo"},
    {"agentId": "home", "llmProvider": "demo"},
]
BINDINGS = [
    {"channel": "telegram", "chatId": "123", "agentId": "work"},
    {"channel": "telegram", "chatId": "9", "threadId": "7", "agentId": "work"},
    {"channel": "telegram", "chatId": "*", "agentId": "home"},
]


@pytest.fixture(autouse=True)
def _bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token for the bindings above."""
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "1:x")


def write(folder: Path, **fields: object) -> Path:
    """An agents.json with the agents and bindings above, changed by ``fields``."""
    path = folder / "agents.json"
    path.write_text(json.dumps({"agents": AGENTS, "bindings": BINDINGS} | fields), "utf-8")
    return path


def test_route_is_explained_binding_by_binding(tmp_path: Path) -> None:
    """From the file alone; no daemon is needed."""
    write(tmp_path)
    lines = command(tmp_path, "route", "explain", "telegram", "123").stdout.splitlines()
    assert lines[0] == "binding telegram:123 -> work: names the chat, applies"
    assert lines[-1] == "answered by agent 'work'"


def test_route_of_a_thread_is_its_own(tmp_path: Path) -> None:
    """The thread's binding is more specific than the chat's."""
    write(tmp_path)
    plain = command(tmp_path, "route", "explain", "telegram", "9").stdout
    thread = command(tmp_path, "route", "explain", "telegram", "9", "--thread", "7").stdout
    assert plain.endswith("answered by agent 'home'\n")
    assert thread.endswith("answered by agent 'work'\n")


def test_route_of_a_chat_that_is_not_admitted_says_so(tmp_path: Path) -> None:
    """Until it is paired; in a group its admitted members are answered."""
    write(tmp_path)
    group = command(tmp_path, "route", "explain", "telegram", "--", "-1001").stdout
    answer, admission = group.splitlines()[-2:]
    assert answer == "answered by agent 'home'"
    assert admission == (
        "but the chat is not admitted: not paired yet; only people who are admitted themselves are"
        " answered there"
    )
    chat = command(tmp_path, "route", "explain", "telegram", "55").stdout.splitlines()[-1]
    assert chat == "but the chat is not admitted: not paired yet, see: orchestrator pair list"
    with opened(tmp_path) as db, job(db):
        code = pairing.request_pairing(db, Address("telegram", "1", "55"), "Ann", "AAAA", 0)
        pairing.approve(db, code or "", 1)
    admitted = command(tmp_path, "route", "explain", "telegram", "55").stdout
    assert admitted.endswith("answered by agent 'home'\n")


def test_route_in_a_group_shows_the_rule_that_decides(tmp_path: Path) -> None:
    """Of a message that the options describe, from the file alone."""
    chats = {"-1001": {"answer": ["reply"]}}
    groups = {"patterns": ["^hey bot"], "chats": chats}
    write(tmp_path, channels={"telegram": {"allowlist": ["-1001", "7"], "groups": groups}})

    def explained(*words: str) -> list[str]:
        found = command(tmp_path, "route", "explain", *words)
        assert found.exit_code == 0
        return [line for line in found.stdout.splitlines() if not line.startswith("binding")]

    own = "in this group the bot answers: reply, '^hey bot' (channels.telegram.groups.chats.-1001)"
    answered = "answered by agent 'home'"
    refused = "but this message is refused: "
    assert explained("telegram:-1001") == [own, answered]
    assert explained("telegram:-1001", "--is", "reply") == [
        own,
        "this message is for the bot: reply",
        answered,
    ]
    mentioned = explained("telegram:-1001", "--is", "mention")
    assert mentioned == [own, answered, f"{refused}not addressed"]
    robot = explained("telegram:-1001", "--is", "bot", "--is", "reply")
    assert robot == [own, answered, f"{refused}from a bot"]
    other = explained("telegram:-1002", "--text", "Hey bot, hi", "--sender", "7")
    assert other == [
        "in this group the bot answers: mention, reply, '^hey bot' (channels.telegram.groups)",
        "this message is for the bot: '^hey bot'",
        answered,
    ]
    stranger = explained("telegram:-1002", "--is", "mention", "--sender", "8")
    assert stranger[-1].startswith("but the chat is not admitted: not paired yet; only people")


def test_route_of_a_private_chat_has_no_rule_for_groups(tmp_path: Path) -> None:
    """Every message there is for the bot; a person's id is no group."""
    write(tmp_path)
    lines = command(tmp_path, "route", "explain", "telegram:123", "--is", "mention").stdout
    assert lines.startswith("in this chat every message is for the bot\n")
    wrong = command(tmp_path, "route", "explain", "telegram:123", "--is", "group")
    assert wrong.exit_code == 2
    assert "is a private chat, not a group" in wrong.stderr


def test_route_of_a_hosted_channel_is_explained_like_any_other(tmp_path: Path) -> None:
    """Whether the file has its section or not."""
    (here, kind), (absent, other) = list(load_channel_kinds().items())[:2]
    bound = {"channel": here, "chatId": "*", "agentId": "work"}
    write(tmp_path, bindings=[bound], channels={here: {"access": "open"}})
    told = command(tmp_path, "route", "explain", f"{here}:{kind.id_example}")
    assert f"binding {here}:* -> work: any chat, applies" in told.stdout
    assert told.exit_code == 0
    told = command(tmp_path, "route", "explain", f"{absent}:{other.id_example}")
    assert told.exit_code == 0
    assert told.stdout.splitlines()[-1] == (
        "but messages from there are ignored: agents.json has no such channel"
    )


def test_route_of_a_channel_that_is_off_says_so(tmp_path: Path) -> None:
    """No message comes from there, whatever the bindings say."""
    write(tmp_path, channels={"telegram": {"enabled": False}})
    told = command(tmp_path, "route", "explain", "telegram:123").stdout
    assert told.endswith("but the channel is off; see channels.telegram and: orchestrator check\n")


def test_route_of_a_wrong_webhook_says_that_it_is_off(tmp_path: Path) -> None:
    """It alone is off; the others have their routes."""
    hook = {"agentId": "work", "secret": "0123456789abcdef"}
    wrong = {**hook, "template": "{{"}
    write(tmp_path, channels={"hook": {"incoming": {"gh": hook, "bad": wrong}}})
    assert "answered by agent 'work'" in command(tmp_path, "route", "explain", "hook:gh").stdout
    assert command(tmp_path, "route", "explain", "hook:bad").stdout == (
        "refused: the webhook 'bad' is off, because of an error; see: orchestrator check\n"
    )
    checked = command(tmp_path, "check")
    assert "webhook 'bad': \"template\" has a {{ or }} without a path" in (
        checked.stdout + checked.stderr
    )


def test_route_of_a_webhook_is_the_agent_that_it_names(tmp_path: Path) -> None:
    """Whatever the bindings say."""
    hook = {"agentId": "work", "secret": "0123456789abcdef"}
    write(tmp_path, channels={"hook": {"incoming": {"gh": hook}}})
    told = command(tmp_path, "route", "explain", "hook:gh").stdout
    assert told == "answered by agent 'work', which channels.hook.incoming.gh names\n"
    unknown = command(tmp_path, "route", "explain", "hook:ghh")
    assert unknown.exit_code == ExitCode.USAGE
    assert "unknown webhook 'ghh' in channels.hook.incoming; did you mean" in unknown.stderr


def test_route_in_a_broken_file_is_refused_with_the_problem(tmp_path: Path) -> None:
    """As `check` says it."""
    path = tmp_path / "other.json"
    path.write_text("[]", "utf-8")
    refused = command(tmp_path, "route", "explain", "web", "1", "--config", str(path))
    assert refused.exit_code == ExitCode.CONFIG
    assert refused.stderr.startswith("other.json")


def test_moved_group_is_routed_by_either_id_and_the_first_one_is_to_be_edited(
    tmp_path: Path,
) -> None:
    """The journal knows the move; the file may say either."""
    with opened(tmp_path) as db, job(db):
        chat_moves.move_chat(db, "telegram", "1", "123", "-1001", 0)
    for chat_id, warnings in (("123", 1), ("-1001", 0)):
        write(tmp_path, bindings=[BINDINGS[0] | {"chatId": chat_id}, BINDINGS[1]])
        assert command(tmp_path, "check").stdout.count("write -1001") == warnings
        for asked in ("123", "-1001"):
            route = command(tmp_path, "route", "explain", "telegram", "--", asked).stdout
            assert route.endswith("answered by agent 'work'\n")
