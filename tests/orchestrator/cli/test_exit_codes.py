"""The exit codes of all commands, as the page exit-codes promises them.

A command whose extension was deleted is left out.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest
from fakes.command_line import every_command, own_commands
from fakes.control_server import Answer, ask, command, serving
from fakes.journal import opened
from fakes.postgresql import sqlite_only

from orchestrator.control import protocol
from orchestrator.errors import ExitCode
from thinker.protocol.peer import RpcError

UNKNOWN_TO_THE_DAEMON: dict[tuple[str, ...], str] = {
    ("send", "nope", "hello"): protocol.CHAT_WATCH,
    ("agents", "pause", "nope"): protocol.AGENT_PAUSE,
    ("agents", "resume", "nope"): protocol.AGENT_RESUME,
    ("agents", "extend", "nope", "0.10"): "budget/extend",
    ("approvals", "grant", "NOPE"): protocol.APPROVAL_DECIDE,
    ("approvals", "deny", "NOPE"): protocol.APPROVAL_DECIDE,
    ("pair", "approve", "NOPE"): protocol.PAIR_APPROVE,
    ("pair", "refuse", "NOPE"): "pair/refuse",
    ("pair", "revoke", "telegram:5"): protocol.PAIR_REVOKE,
    ("pair", "role", "telegram:5", "--as", "talk"): protocol.PAIR_ROLE,
    ("tools", "approve", "nope/nope"): protocol.TOOL_APPROVE,
    ("dashboard", "revoke", "nope"): "dashboard/revoke",
    ("replay", "nope", "--yes"): "trial/estimate",
    ("trial", "show", "99"): "trial/show",
    ("trial", "stop", "99"): "trial/stop",
    ("trial", "go-on", "99"): "trial/goOn",
    ("budget", "extend", "0.10", "nope"): "budget/extend",
    ("fork", "nope"): "branches/fork",
    ("rewind", "nope"): "branches/rewind",
    ("rules", "add", "nope"): "rules/add",
    ("rules", "revoke", "99"): "rules/revoke",
}
UNKNOWN_TO_THE_JOURNAL = (
    *((verb, act, "99") for verb in ("tasks",) for act in ("run", "enable", "disable", "history")),
    *(("dlq", act, "99") for act in ("show", "retry", "drop")),
    *(("sessions", act, "99") for act in ("show", "end")),
    *(("sessions", act, "telegram:5") for act in ("show", "end")),
    *(("memory", act, "99") for act in ("forget", "show", "undo")),
    ("memory", "edit", "99", "She likes tea."),
    ("agents", "moved", "nope", "--confirm"),
    ("trace", "99"),
    ("trace", "deadbeef"),
    ("export", "chat", "telegram:5"),
    ("export", "agent", "nope"),
    ("forget", "chat", "telegram:5", "--yes"),
    ("forget", "agent", "nope", "--yes"),
    ("forget", "person", "nope", "--yes"),
    ("prompt", "diff", "98", "99"),
    ("sets", "show", "nope"),
    ("sets", "add", "daily", "99"),
    ("sets", "rm", "daily", "99"),
    ("sets", "export", "nope", "folder"),
)
UNKNOWN_TO_THE_FILES = (
    ("usage", "--agent", "nope"),
    ("sessions", "list", "--agent", "nope"),
    ("memory", "list", "--agent", "nope"),
    ("memory", "search", "tea", "--agent", "nope"),
    ("memory", "try", "tea", "--agent", "nope"),
    ("skills", "list", "--agent", "nope"),
    ("models", "test", "nope"),
    ("prompt", "show", "nope"),
    ("prompt", "show", "nope", "--message", "hello"),
    ("route", "explain", "telegrm:5"),
    ("tasks", "preview", "nope"),
    *(("config", act, "nope") for act in ("edit", "history", "diff", "undo")),
)
NAMELESS = {  # commands whose arguments name nothing that could be unknown
    ("agents", "move"): "tests of its own, as it needs an agents.json with an agent",
    ("backup",): "a file",
    ("chat",): "tests of its own",
    ("check",): "a file",
    ("completion",): "a shell",
    ("config", "push"): "a folder",
    ("dashboard",): "a new address",
    ("dashboard", "invite"): "a new name",
    ("help",): "a page",
    ("nodes", "drain"): "tests of its own, as it needs a database server",
    ("prompt", "test"): "tests of its own, as its exit codes are for CI systems",
    ("restore",): "a file",
}


def installed(*tables: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the lines of these tables whose command there is."""
    known = own_commands()
    return [words for table in tables for words in table if words[0] in known]


@pytest.mark.parametrize(
    "words", installed(UNKNOWN_TO_THE_JOURNAL, UNKNOWN_TO_THE_FILES), ids=" ".join
)
def test_unknown_name_is_64_without_a_daemon(words: tuple[str, ...], tmp_path: Path) -> None:
    """The reason is on stderr, and nothing on stdout."""
    with opened(tmp_path):
        pass
    refused = command(tmp_path, *words)
    assert (refused.exit_code, refused.stdout) == (ExitCode.USAGE, ""), refused.stderr
    assert refused.stderr


@pytest.mark.parametrize("words", installed(UNKNOWN_TO_THE_DAEMON), ids=" ".join)
async def test_unknown_name_is_64_with_a_daemon_and_3_without(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """The daemon's own words are the reason."""
    assert (await ask(tmp_path, *words)).exit_code == ExitCode.NOT_RUNNING
    refusal = RpcError(protocol.UNKNOWN_NAME, "there is no such thing")
    answers: dict[str, Answer] = {
        "tools/pins": {"tools": []},
        UNKNOWN_TO_THE_DAEMON[words]: refusal,
    }
    async with serving(tmp_path, answers):
        refused = await ask(tmp_path, *words)
    assert (refused.exit_code, refused.stderr) == (ExitCode.USAGE, "there is no such thing\n")


def test_each_command_with_a_name_is_looked_at() -> None:
    """A new one has to be added above."""
    tried = {*UNKNOWN_TO_THE_DAEMON, *UNKNOWN_TO_THE_JOURNAL, *UNKNOWN_TO_THE_FILES, *NAMELESS}
    seen = {words[:length] for words in tried for length in (1, 2)}
    named = {words for words, arguments in every_command().items() if arguments}
    assert named - seen == set()


@sqlite_only
@pytest.mark.parametrize(
    "words", installed([("tasks", "list"), ("usage",), ("trace", "1"), ("memory", "list")])
)
def test_home_without_a_journal_is_74(words: tuple[str, ...], tmp_path: Path) -> None:
    """None is created."""
    assert command(tmp_path, *words).exit_code == ExitCode.IO
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", installed([("skills", "list"), ("route", "explain", "telegram:5"), ("check",)])
)
def test_broken_agents_json_is_78(words: tuple[str, ...], tmp_path: Path) -> None:
    """For every command that needs it."""
    (tmp_path / "agents.json").write_text("{", "utf-8")
    assert command(tmp_path, *words).exit_code == ExitCode.CONFIG


@pytest.mark.parametrize("words", [("status", "--nope"), ("tasks", "run", "x"), ("tasks", "nope")])
def test_wrong_option_or_argument_is_2(words: tuple[str, ...], tmp_path: Path) -> None:
    """With a word on how to get help."""
    refused = command(tmp_path, *words)
    assert refused.exit_code == 2
    assert "for help" in refused.stderr
