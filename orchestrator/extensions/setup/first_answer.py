"""Get a first answer from the running daemon, or from one started just for that."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import anyio
from anyio.abc import Process

from orchestrator.child_signals import stop_child
from orchestrator.cli.client import connect_to_daemon
from orchestrator.cli.conversation import ANSWERED, send_and_wait, tell_question
from orchestrator.control.daemon_answer import ANSWER_SECONDS
from orchestrator.control.protocol import (
    RELOAD,
    STATUS,
    ChannelReport,
    ChatOutcome,
    ChatSend,
    ReloadReport,
    StatusReport,
)
from orchestrator.errors import NotRunningError, OrchestratorError, unwrap_cause
from orchestrator.settings import Settings
from thinker.protocol.methods import StopReason

QUESTION = "Hello! Who are you? Answer in one sentence."
STARTS_WITHIN = 90.0  # seconds; a busy machine needs a tenth
ANSWERS_WITHIN = 180.0  # seconds; a local model may have to be loaded
STOPS_WITHIN = 30.0
LISTENS_WITHIN = 10.0  # seconds for the channels to be heard
PAUSE = 0.2  # seconds between two checks
MODEL_ERROR = StopReason.MODEL_ERROR
ENDS = (StopReason.DONE, StopReason.LENGTH)  # of a turn whose model answered
LOGS = "orchestrator logs"
LINES = 5  # of the log of a daemon that did not start


async def fetch_daemon_status(settings: Settings) -> StatusReport | None:
    """Return the state of a home's daemon; None if none runs."""
    try:
        async with connect_to_daemon(settings) as peer:
            return await peer.call(STATUS, None, StatusReport, timeout=ANSWER_SECONDS)
    except NotRunningError:
        return None


async def reload_daemon(settings: Settings) -> ReloadReport:
    """Make the running daemon adopt the new configuration."""
    async with connect_to_daemon(settings) as peer:
        return await peer.call(RELOAD, None, ReloadReport, timeout=ANSWER_SECONDS)


async def get_first_answer(
    settings: Settings, agent_id: str, tell: Callable[[str], None] = lambda _: None
) -> ChatOutcome:
    """Ask an agent who it is, with a temporary daemon if none runs.

    Afterwards ``tell`` is called with what is wrong with each channel of that daemon.

    Raises:
        OrchestratorError: the daemon does not start, or does not answer in time.
    """
    async with AsyncExitStack() as stack:
        if await fetch_daemon_status(settings) is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="orchestrator-"))
            await stack.enter_async_context(_run_daemon(settings, Path(folder) / "log"))
        outcome = await _ask_agent(settings, agent_id)
        for channel in await _wait_for_channels(settings):
            if channel.state != "ok" and (channel.detail or channel.state != "starting"):
                tell(f"channel {channel.name}: {channel.detail or channel.state}")
        return outcome


async def _wait_for_channels(settings: Settings) -> tuple[ChannelReport, ...]:
    """Return the channels, once each works or has said why not; after a while as they are."""
    channels: tuple[ChannelReport, ...] = ()
    with anyio.move_on_after(LISTENS_WITHIN):
        while True:
            report = await fetch_daemon_status(settings)
            channels = () if report is None else report.channels
            if all(channel.detail or channel.state != "starting" for channel in channels):
                return channels
            await anyio.sleep(PAUSE)
    return channels


async def _ask_agent(settings: Settings, agent_id: str) -> ChatOutcome:
    chat = f"setup-{uuid4()}"  # no other message in it waits for an approval
    message = ChatSend(chat=chat, message=str(uuid4()), text=QUESTION, agent=agent_id)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_notice_pause, settings, agent_id)
            outcome = await send_and_wait(settings, message, ANSWERS_WITHIN, tell_question)
            tasks.cancel_scope.cancel()
    except ExceptionGroup as group:
        raise unwrap_cause(group) from None
    report = await fetch_daemon_status(settings)
    turns = () if report is None else report.recent_turns
    mine = next((turn for turn in turns if chat in turn.chat), None)
    if outcome.state != ANSWERED or mine is None or mine.stop_reason in ENDS:
        return outcome
    why = mine.error or " ".join(outcome.texts)
    told = f"the model gave no answer: {why}\nfor more, see: {LOGS}"
    return outcome.model_copy(update={"state": MODEL_ERROR, "texts": (), "error": told})


async def _notice_pause(settings: Settings, agent_id: str) -> None:
    """Raise as soon as the agent is paused: its messages would wait forever."""
    while True:
        await anyio.sleep(PAUSE)
        report = await fetch_daemon_status(settings)
        for agent in () if report is None else report.agents:
            if agent.agent_id == agent_id and agent.paused:
                raise OrchestratorError(f"{agent_id} is paused: {agent.paused}")


@asynccontextmanager
async def _run_daemon(settings: Settings, log: Path) -> AsyncIterator[None]:
    command = [sys.executable, "-P", "-m", "orchestrator", "run", "--home", str(settings.home)]
    command += ["--config", str(settings.config)] if settings.config else []
    with log.open("wb") as written:
        process = await anyio.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            env=dict(os.environ),
            start_new_session=True,  # so that Ctrl-C reaches the daemon as an orderly stop
        )
    try:
        with anyio.fail_after(STARTS_WITHIN):
            await _wait_until_ready(settings, process, log)
        yield
    except TimeoutError:
        raise OrchestratorError(_explain_failure(log, "it was not ready in time")) from None
    finally:
        with anyio.CancelScope(shield=True):
            await stop_child(process, STOPS_WITHIN)


async def _wait_until_ready(settings: Settings, process: Process, log: Path) -> None:
    while process.returncode is None:
        if await fetch_daemon_status(settings) is not None:
            return
        await anyio.sleep(PAUSE)
    raise OrchestratorError(_explain_failure(log, f"it ended with code {process.returncode}"))


def _explain_failure(log: Path, reason: str) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()[-LINES:]
    return "\n".join([f"the daemon does not start: {reason}", *lines])
