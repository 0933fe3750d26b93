"""What the commands print, and which wrong inputs they explain before anything is done."""

import json
import shutil
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.postgresql import sqlite_only
from fakes.two_homes import HERE, THERE, TwoHomes, make_home

from orchestrator.errors import ExitCode
from orchestrator.extensions.relocation.journal_steps import StepRequest

pytestmark = sqlite_only  # the variable with a server's address is the source's alone


@pytest.fixture
def homes(tmp_path: Path) -> TwoHomes:
    """Two homes with a history."""
    found = TwoHomes(make_home(tmp_path / "here", HERE), make_home(tmp_path / "there", THERE))
    found.live()
    return found


def change(homes: TwoHomes, **fields: object) -> None:
    """Write other fields into the agents.json of the first home."""
    homes.here.agents_path.write_text(json.dumps({**HERE, **fields}))


def move(homes: TwoHomes, *words: str) -> tuple[int, str]:
    """Run `agents move` at the first home; the second one is the target."""
    there = ("--to", str(homes.there.settings.home))
    done = command(homes.here.settings.home, "agents", "move", "work", *there, *words)
    return done.exit_code, done.output


def test_dry_run_counts_everything_and_changes_nothing(homes: TwoHomes) -> None:
    """Each table with rows, the files, the bindings, and what stays behind."""
    files = homes.there.agents_path.read_text()
    code, text = move(homes, "--dry-run", "--json")
    report = json.loads(text)
    assert code == 0
    assert report["rows"]["message"] > 0
    assert report["refused"] == []
    code, text = move(homes, "--dry-run")
    assert f"message {report['rows']['message']}," in text
    assert "2 bindings of agents.json" in text
    assert "handoffs to or from other agents end" in text
    assert homes.works(homes.here)
    assert homes.there.agents_path.read_text() == files


def test_moved_agent_is_confirmed_with_the_commands_that_were_printed(homes: TwoHomes) -> None:
    """The output says what to type next, and what deletes the rest."""
    code, text = move(homes)
    assert code == 0
    here = homes.here.settings.home
    assert "orchestrator agents moved work --confirm" in text
    assert "orchestrator agents moved work --undo" in text
    there = command(homes.there.settings.home, "agents", "moved", "work", "--confirm")
    assert f"end its move there: orchestrator agents moved work --confirm --home {here}" in (
        there.output
    )
    done = command(here, "agents", "moved", "work", "--confirm")
    assert done.exit_code == 0, done.output
    assert "orchestrator forget agent work" in done.output
    again = command(here, "agents", "moved", "work", "--confirm")
    assert "is not on a move" in again.output
    assert command(here, "forget", "agent", "work", "--yes").exit_code == 0
    assert homes.read(homes.here, "SELECT count(*) FROM turn WHERE agent_id = 'work'") == 0
    assert homes.works(homes.there)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("move", "wrok", "--to", "{there}"), "no agent 'wrok' in agents.json; it has: home"),
        (("move", "work", "--to", "{here}"), "is the home of the agent itself; give another one"),
        (("move", "work", "--to", "{here}/agents.json"), "is a file; give the folder of a home"),
        (("move", "work", "--to", "mysql://a/b"), "begins with postgresql://"),
        (("move", "home", "--to", "{there}"), "name another agent there first"),
        (("move", "work"), "Missing option '--to'"),
        (("moved", "work", "--confirm"), "begin one with: orchestrator agents move work --to HOME"),
        (("move", "work", "--to", "{there}", "--wait", "-1"), "Invalid value for '--wait'"),
    ],
)
def test_wrong_input_is_told_what_to_do(
    homes: TwoHomes, words: tuple[str, ...], advice: str
) -> None:
    """And nothing was changed."""
    here, there = homes.here.settings.home, homes.there.settings.home
    arguments = [word.format(here=here, there=there) for word in words]
    done = command(here, "agents", *arguments)
    assert done.exit_code != 0
    assert advice in done.output
    assert homes.works(homes.here)


def test_bot_that_serves_others_stays_and_so_does_the_agent(homes: TwoHomes) -> None:
    """A bot cannot be received in two homes; the advice is a bot of the agent's own."""
    bindings = [
        {"channel": "telegram", "chatId": "1", "agentId": "work"},
        {"channel": "telegram", "chatId": "*", "agentId": "home"},
    ]
    change(homes, bindings=bindings)
    code, text = move(homes)
    assert code == ExitCode.CONFIG
    assert "channel telegram: its bot also serves home" in text
    assert "give 'work' a bot of its own" in text


def test_bot_of_the_target_is_not_mixed_with_that_of_the_agent(homes: TwoHomes) -> None:
    """Both would answer to one name of a channel."""
    (homes.there.settings.home / "keys.env").write_text("TELEGRAM_BOT_TOKEN=1:a\n")
    _, text = move(homes)
    assert "has a bot there" in text
    assert "TELEGRAM_BOT_TOKEN" in text


def test_only_agent_of_a_home_is_moved_as_the_whole_home(homes: TwoHomes) -> None:
    """A home without agents would not start."""
    agents = [{"agentId": "work", "llmProvider": "demo"}]
    change(homes, agents=agents, bindings=[], fallbackAgentId="work")
    _, text = move(homes)
    assert "move the whole home instead" in text


def test_agent_that_others_name_does_not_leave_them_broken(homes: TwoHomes) -> None:
    """The file that would remain is checked before anything is done."""
    bindings = [*HERE["bindings"], {"channel": "console", "chatId": "x", "agentId": "work"}]
    tests = [{"channel": "console", "chatId": "x", "agentId": "work"}]
    change(homes, bindings=bindings, tests=tests)
    code, text = move(homes, "--dry-run")
    assert code == 0, text
    own = homes.there.agents_path
    own.write_text(json.dumps({**THERE, "agents": [{"agentId": "work", "llmProvider": "demo"}]}))
    code, text = move(homes)
    assert "has an agent 'work' already; remove or rename it there first" in text


def test_move_to_a_second_place_waits_for_the_end_of_the_first(
    homes: TwoHomes, tmp_path: Path
) -> None:
    """An agent that has moved cannot move on from its old home."""
    assert move(homes)[0] == 0
    other = str(tmp_path / "other")
    done = command(homes.here.settings.home, "agents", "move", "work", "--to", other)
    assert done.exit_code != 0
    assert "already moves to" in done.output
    back = command(homes.here.settings.home, "agents", "moved", "work", "--undo")
    assert "works here again" in back.output
    assert homes.works(homes.here)


def test_agent_on_its_way_comes_back_from_a_folder_that_is_gone(homes: TwoHomes) -> None:
    """Nothing is made in its place; an agent that has arrived waits for its new home."""
    here, there = homes.here.settings.home, homes.there.settings.home
    leave = StepRequest(step="leave", agent_id="work", id="m", here=str(here), there=str(there))
    homes.here.run_step(leave)
    shutil.rmtree(there)
    back = command(here, "agents", "moved", "work", "--undo")
    assert back.exit_code == 0, back.output
    assert f"{there} is not there" in back.output
    assert "works here again" in back.output
    assert not there.exists()
    assert homes.works(homes.here)
    homes.here.run_step(leave)
    homes.here.run_step(leave.model_copy(update={"step": "depart"}))
    for end in ("--undo", "--confirm"):
        refused = command(here, "agents", "moved", "work", end)
        assert refused.exit_code == ExitCode.CONFIG
        assert "mount it, or put it back" in refused.output
