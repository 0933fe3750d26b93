"""The commands that scripts repeat: loaded without typer, and the same as with it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread
from fakes.control_server import Answer, ask, command, serving
from fakes.time_limit import LIMIT
from pydantic import JsonValue

from orchestrator.cli.quick import run_quickly
from orchestrator.config_problem import Problem
from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport
from orchestrator.control.daemon_answer import JsonRecord, find_answer
from orchestrator.control.protocol import (
    HealthReport,
    RecentTurn,
    StatusReport,
)
from orchestrator.errors import ExitCode
from thinker.protocol.peer import FAILED, RpcError

HEAVY = {"typer", "pydantic", "pydantic_core", "rich", "structlog", "asyncio", "anyio", "orjson"}
PROGRAM = (
    "import sys\n"
    "from orchestrator.cli.quick import run_quickly\n"
    "code = run_quickly(sys.argv[1:])\n"
    "print(code, *sorted(sys.modules), file=sys.stderr)\n"
)
REPORT = StatusReport(
    ready=True,
    version="1.2.3",
    home="/h",
    config_file="/h/agents.json",
    agents=(
        AgentReport(
            agent_id="wörk", state="running", pid=41, restarts=2, provider="demo", model="demo"
        ),
    ),
    channels=(),
    config_errors=(Problem("warning", "agents.json", 12, "wörk", "has no model"),),
    open_turns=1,
    inbox={"new": 3, "dead_letters": 1},
    recent_turns=(
        RecentTurn(
            turn_id="01234567-89abcdef",
            agent_id="wörk",
            chat="console:x",
            state="closed",
            stop_reason=None,
            tools=("get_time", "read_skill"),
            ms=20,
        ),
    ),
    hints=("set a key \u202e now",),
)
HELD = HealthReport(ready=False, reasons=("channel telegram has not heard",), notes=("x",))


async def run_alone(home: Path, *words: str) -> tuple[str, str, set[str]]:
    """What a new process prints, its exit code, and the modules that it has loaded."""
    run = partial(subprocess.run, capture_output=True, text=True, check=True, timeout=LIMIT)
    done = await to_thread.run_sync(
        lambda: run([sys.executable, "-c", PROGRAM, *words, "--home", str(home)])
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    return done.stdout, code, set(modules)


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "answers"),
    [(["health", "--ready"], {protocol.HEALTH: HELD}), (["status"], {protocol.STATUS: REPORT})],
)
async def test_question_to_the_daemon_loads_the_standard_library_alone(
    words: Sequence[str], answers: dict[str, Answer], tmp_path: Path
) -> None:
    """A script may ask every few seconds. A name outside of ASCII needs the table of widths."""
    async with serving(tmp_path, answers):
        _, code, modules = await run_alone(tmp_path, *words)
    assert code == str(int(words[0] == "health"))
    foreign = {name for name in modules if name.partition(".")[0] in HEAVY}
    assert {name for name in foreign if not name.startswith(("rich.cells", "rich._"))} <= {"rich"}
    assert not [name for name in modules if name.startswith("orchestrator.extensions.")]


@pytest.mark.process
async def test_check_loads_neither_typer_nor_rich(tmp_path: Path) -> None:
    """Models of the whole file take long enough."""
    (tmp_path / "agents.json").write_text('{"agents": [{"agentId": "a"}]}', "utf-8")
    printed, code, modules = await run_alone(tmp_path, "check")
    assert (code, printed == command(tmp_path, "check").stdout) == (str(ExitCode.CONFIG), True)
    assert {"typer", "rich", "orchestrator.control.protocol"} & modules == set()


@pytest.mark.process
async def test_daemon_starts_without_typer(tmp_path: Path) -> None:
    """Its options alone need it. Here it is refused before it opens a journal."""
    (tmp_path / "run").write_text("", "utf-8")
    _, code, modules = await run_alone(tmp_path, "run")
    assert (code, "orchestrator.cli.daemon_start" in modules) == (str(ExitCode.CONFIG), True)
    assert {"typer", "rich"} & modules == set()


@pytest.mark.parametrize("words", [["health"], ["health", "--ready"], ["health", "--json"]])
async def test_health_is_as_the_whole_command_line_prints_it(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the letter, and with the same exit code."""
    async with serving(tmp_path, {protocol.HEALTH: HELD}):
        code = await to_thread.run_sync(run_quickly, [*words, f"--home={tmp_path}"])
        shown = await ask(tmp_path, *words)
    assert (code, capsys.readouterr().out) == (shown.exit_code, shown.stdout)


@pytest.mark.parametrize("words", [["status"], ["status", "--json"]])
async def test_status_is_as_the_whole_command_line_prints_it(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables, problems and hidden signs; JSON with its line ends."""
    async with serving(tmp_path, {protocol.STATUS: REPORT}):
        code = await to_thread.run_sync(run_quickly, [*words, "--home", str(tmp_path)])
        shown = await ask(tmp_path, *words)
    assert (code, capsys.readouterr().out) == (shown.exit_code, shown.stdout)


async def test_closed_output_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is the answer, as for a program that closes what it does not read."""
    monkeypatch.setattr("sys.stdout", None)
    async with serving(tmp_path, {protocol.HEALTH: HELD}):
        words = ["health", "--ready", "--home", str(tmp_path)]
        assert await to_thread.run_sync(run_quickly, words) == ExitCode.FAILED


async def test_home_of_the_environment_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for every command."""
    monkeypatch.setenv("ORCHESTRATOR_HOME", str(tmp_path))
    async with serving(tmp_path, {protocol.HEALTH: HELD}):
        assert await to_thread.run_sync(run_quickly, ["health"]) == ExitCode.OK
    assert capsys.readouterr().out == "alive, not ready\nchannel telegram has not heard\nx\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["health", "--redy"],
        ["health", "extra"],
        ["health", "--home"],
        ["status", "--home", "caf\udce9"],
        ["check", "agents.json"],
        ["send", "work", "hello"],
        ["health", "--help"],
    ],
)
def test_words_that_are_not_plain_are_left_to_typer(words: list[str]) -> None:
    """It explains what is wrong with them."""
    assert run_quickly(words) is None


@pytest.mark.parametrize(
    "answer",
    [
        RpcError(FAILED, "refused"),
        ["not an object"],
        {"ready": True},
    ],
)
async def test_answer_that_is_no_report_is_left_to_typer(
    answer: JsonValue | RpcError, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal, or a daemon of another version; nothing is printed before."""
    async with serving(tmp_path, {protocol.HEALTH: answer}):
        found = await to_thread.run_sync(run_quickly, ["health", "--home", str(tmp_path)])
    assert (found, capsys.readouterr().out) == (None, "")


def test_absent_daemon_is_left_to_typer(tmp_path: Path) -> None:
    """Whose message says where one runs."""
    assert find_answer(tmp_path, protocol.HEALTH) is None


def test_json_record_reads_like_a_model() -> None:
    """Nested ones, too; an unknown name is an attribute error, as of a model."""
    text = '{"agentId": "a", "inner": {"openTurns": 1}, "list": [{"chatId": "b"}]}'
    found = json.loads(text, object_hook=JsonRecord)
    assert (found.agent_id, found.inner.open_turns, found.list[0].chat_id) == ("a", 1, "b")
    with pytest.raises(AttributeError, match="missing"):
        _ = found.missing
