"""The first answer of a setup, from a daemon that runs and from one that cannot."""

from pathlib import Path

import pytest
from fakes.control_server import ask, serving, talking
from fakes.daemon import running_daemon
from fakes.time_limit import time_limit

from orchestrator.control.protocol import CHAT_SEND, ChatOutcome, ChatSend
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.setup.first_answer import get_first_answer
from orchestrator.settings import Settings

pytestmark = pytest.mark.process

CONFIG = """{
  "agents": [{"agentId": "a", "llmProvider": "demo"}],
  "bindings": [{"channel": "console", "chatId": "*", "agentId": "a"}]
}"""


async def test_daemon_that_runs_takes_the_change_and_answers(tmp_path: Path) -> None:
    """Nothing has to be restarted for a new agent."""
    async with running_daemon(tmp_path, CONFIG, None) as daemon:
        done = await ask(tmp_path, "setup", "--provider", "demo", "--agent", "b", "--yes")
        assert (await daemon.status()).agents[-1].agent_id == "b"
        assert daemon.process.returncode is None
    assert done.exit_code == 0, done.output
    assert "b: You said: Hello" in done.stdout
    assert "Starting a daemon" not in done.stdout


async def test_daemon_with_another_file_is_to_be_restarted(tmp_path: Path) -> None:
    """It cannot answer for an agent that it does not know."""
    other = tmp_path / "other.json"
    env = {"ORCHESTRATOR_CONFIG": str(other)}
    other.write_text(CONFIG, "utf-8")
    async with running_daemon(tmp_path, CONFIG, None, env):
        (tmp_path / "agents.json").unlink()
        done = await ask(tmp_path, "setup", "--provider", "demo", "--yes")
    assert done.exit_code == 1
    assert f"it uses {other}" in done.stdout


async def test_question_is_asked_in_a_chat_where_nothing_waits(tmp_path: Path) -> None:
    """A call that waits for approval in the agent's usual chat would hold it up for ever."""
    done = ChatOutcome(state="done", texts=("I am work.",))
    async with serving(tmp_path, talking(done)) as server:
        with time_limit():
            for _ in range(2):
                await get_first_answer(Settings(home=tmp_path), "work")
    sent = [ChatSend.model_validate(params) for params in server.params(CHAT_SEND)]
    assert {message.agent for message in sent} == {"work"}
    assert len({message.chat for message in sent} - {"work"}) == 2


async def test_daemon_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    """The journal is no file."""
    (tmp_path / "journal.db").mkdir()
    (tmp_path / "agents.json").write_text(CONFIG, "utf-8")
    with time_limit(), pytest.raises(OrchestratorError, match="does not start") as caught:
        await get_first_answer(Settings(home=tmp_path), "a")
    assert "journal.db" in str(caught.value)
