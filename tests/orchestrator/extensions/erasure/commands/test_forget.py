"""``orchestrator forget`` and ``export``, with and without a daemon, and with files."""

import json
from pathlib import Path

import pytest
from fakes.control_server import ask, command, serving
from fakes.journal import job, opened, receive, update
from fakes.lived import Life

from orchestrator.cli import typed_messages
from orchestrator.control.protocol import Ack
from orchestrator.errors import ExitCode
from orchestrator.extensions.erasure.erasure_part import FORGET
from orchestrator.home_paths import Paths
from orchestrator.journal.db import audit
from orchestrator.journal.turns import turns
from thinker.protocol.peer import FAILED, RpcError

AGENTS = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose daemon has ended; its agent ``gone`` is not in agents.json any more."""
    paths = Paths(tmp_path)
    paths.create_directories()
    (tmp_path / "agents.json").write_text(json.dumps(AGENTS), "utf-8")
    (paths.agent_prompts / "gone.txt").write_text("You are gone.", "utf-8")
    (paths.personas / "gone" / "skills").mkdir(parents=True)
    (paths.personas / "gone" / "instructions.md").write_text("Be gone.", "utf-8")
    with opened(tmp_path) as db:
        with job(db):
            turns.boot(db, 0)
        Life(db, "gone", "4711", "zebra").live()
    return tmp_path


def left(home: Path) -> set[str]:
    """The texts of messages (refused ones have none), and the files."""
    with opened(home) as db:
        texts = {str(text) for (text,) in db.execute("SELECT text FROM inbox WHERE text <> ''")}
    return texts | {str(path.relative_to(home)) for path in home.rglob("*gone*")}


def test_agent_is_forgotten_with_its_files_when_it_was_taken_out(home: Path) -> None:
    """In the journal first; exactly what was listed is deleted."""
    refused = command(home, "forget", "agent", "work", "--yes")
    assert refused.exit_code == ExitCode.FAILED
    assert "agent work is in agents.json; remove it there first" in refused.stderr
    done = command(home, "forget", "agent", "gone", said="y\n")
    assert done.exit_code == 0
    assert "agent gone: deleted" in done.stdout
    assert "agent-prompts/gone.txt" in done.stdout
    assert left(home) == set()
    again = command(home, "forget", "agent", "gone", "--yes")
    assert "no data is stored about agent gone" in again.stderr


def test_files_that_a_kill_left_go_with_the_next_try(home: Path) -> None:
    """The journal has nothing any more, the home has."""
    (home / "agents" / "late").mkdir()
    done = command(home, "forget", "agent", "late", "--yes")
    assert done.exit_code == 0
    assert not (home / "agents" / "late").exists()


@pytest.mark.parametrize("name", ["..", "../agents", "/", "."])
def test_name_that_leads_elsewhere_removes_nothing(name: str, home: Path) -> None:
    """A name is no path."""
    before = left(home)
    assert command(home, "forget", "agent", name, "--yes").exit_code == ExitCode.USAGE
    assert left(home) == before


def test_nothing_is_removed_without_a_yes(home: Path) -> None:
    """What there is was shown before."""
    before = left(home)
    refused = command(home, "forget", "chat", "telegram:4711", said="n\n")
    assert refused.exit_code == ExitCode.FAILED
    assert "  inbox " in refused.stdout
    assert left(home) == before


async def test_running_daemon_forgets_itself_and_may_refuse(home: Path) -> None:
    """It is the only writer; the operator sees its reason."""
    async with serving(home, {FORGET: Ack()}) as server:
        done = await ask(home, "forget", "chat", "telegram:4711", "--yes")
        assert done.exit_code == 0
        asked = {"agent": None, "channel": "telegram", "chat": "4711"}
        assert server.params(FORGET) == [asked]
    async with serving(home, {FORGET: RpcError(FAILED, "chat telegram:4711 is being answered")}):
        refused = await ask(home, "forget", "chat", "telegram:4711", "--yes")
    assert refused.exit_code == ExitCode.FAILED
    assert "is being answered" in refused.stderr
    assert "I am zebra" in left(home)


def test_files_of_exported_sets_are_named_as_out_of_reach(home: Path) -> None:
    """Nothing tells where they went; the audit log tells what they are."""
    with opened(home) as db, job(db):
        audit.record_decision(db, "operator", "exported a set", "set daily, 3 turns, cases abc", 1)
    told = "stays, if it is in there: the files of the export of set daily, 3 turns, cases abc"
    assert told in command(home, "forget", "chat", "telegram:4711", "--yes").stdout


def test_chat_is_named_by_channel_and_id(home: Path) -> None:
    """The refusal says what to write; an unknown chat is refused too."""
    assert "write its channel and id" in command(home, "forget", "chat", "4711").stderr
    assert (
        "no data is stored about chat telegram:5"
        in command(home, "forget", "chat", "telegram:5", "--yes").stderr
    )


def test_everything_of_a_chat_is_printed_as_json_lines(home: Path) -> None:
    """For an agent, too; nothing is printed about an unknown agent."""
    with opened(home) as db:
        receive(db, update(1, "from another chat", "8"))
    shown = command(home, "export", "chat", "telegram:4711")
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert {"inbox", "turn", "step", "message", "fact"} <= {row["table"] for row in rows}
    assert "from another chat" not in shown.stdout
    assert command(home, "export", "agent", "gone").exit_code == 0
    assert "nothing about agent nobody" in command(home, "export", "agent", "nobody").stderr


def test_console_chat_is_forgotten_with_what_was_typed_in_it(home: Path) -> None:
    """Other chats keep theirs; a chat of another channel has none."""
    typed = Paths(home).chat_history
    for chat, text in (("work", "my secret"), ("other", "hello"), ("work", "again")):
        typed_messages.add_message(typed, chat, text)
    command(home, "forget", "chat", "telegram:work", "--yes")
    assert typed_messages.count_messages(typed, "work") == 2
    done = command(home, "forget", "chat", "console:work", "--yes")
    assert f"{typed}: 2 typed here" in done.stdout
    assert typed_messages.load_messages(typed) == ["hello"]
    assert typed.stat().st_mode & 0o777 == 0o600


def test_kept_versions_that_name_a_forgotten_agent_go_with_it(home: Path) -> None:
    """Those of other texts stay."""
    history = Paths(home).history
    texts = {
        "agents.json/1": '{"agents": [{"agentId": "gone"}]}',
        "agents.json/2": '{"agents": [{"agentId": "work"}]}',
        "personas%2Fgone%2Finstructions.md/1": "Be gone.",
        "prompts%2Ftea.md/1": "He is gone by now.",
    }
    for name, text in texts.items():
        path = history / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"number":1,"at":1,"by":"a file"}\n' + text, "utf-8")
    assert command(home, "forget", "agent", "gone", "--yes").exit_code == 0
    kept = {str(path.relative_to(history)) for path in history.rglob("*") if path.is_file()}
    assert kept == {"agents.json/2", "prompts%2Ftea.md/1"}


def test_kept_versions_that_name_a_forgotten_chat_go_with_it(home: Path) -> None:
    """In the text as in what was said about it."""
    history = Paths(home).history / "agents.json"
    history.mkdir(parents=True)
    head = '{"number":1,"at":1,"by":"a file","sentences":[]}\n'
    (history / "1").write_text(head + '{"bindings": [{"chatId": "4711"}]}', "utf-8")
    (history / "2").write_text(head.replace("[]", '["telegram:4711 moves"]') + "{}", "utf-8")
    (history / "3").write_text(head + '{"port": 47110}', "utf-8")
    assert command(home, "forget", "chat", "telegram:4711", "--yes").exit_code == 0
    assert [path.name for path in history.iterdir()] == ["3"]
