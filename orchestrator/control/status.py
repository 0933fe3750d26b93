"""Judge whether the daemon is ready, and collect hints for its operator."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import anyio
import structlog

from orchestrator import __version__
from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import Adapter, ChannelStatus
from orchestrator.configuration import Configuration
from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport, name_model
from orchestrator.errors import JournalError
from orchestrator.inbound.commands import DaemonSnapshot
from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.journal.turns import approvals
from orchestrator.outbound.flood_control import BOT, Hold
from orchestrator.processes.child_process import ChildProcess
from orchestrator.processes.restarts import WorkerState
from orchestrator.processes.supervisor import Supervisor
from orchestrator.tools.remote_tools import KnownServer, RemoteTools
from thinker.jail.hardening import build_hardened_report
from thinker.protocol.names import ChatName, format_chat_name

POLL_AGE = 120.0  # seconds since its last successful poll after which a channel is not ready
MAX_NAMED = 50  # agents in a line of the log, and hints about agents
MAX_HOLD_SECONDS = 60.0  # seconds that a platform may silence a ready daemon's bot
WRITE_TIMEOUT = 5.0  # seconds for one small write; a disk that takes longer is stuck
DEMO_HINT = (
    "agent {agent!r} uses the built-in demo model (rules, no language model);"
    " run: orchestrator setup, or start Ollama"
)
WAITS = "chat {chat} waits for a decision about {tool}; see: orchestrator approvals list"
UNHEARD = "channels.{name}.groups answers messages that do not name the bot, but {why}"

log = structlog.get_logger()


def build_snapshot(
    supervisor: Supervisor, servers: RemoteTools, adapters: Iterable[Adapter], started: int
) -> DaemonSnapshot:
    """Return the snapshot that ``/status`` shows in a chat; ``started`` in ms since the epoch."""
    return DaemonSnapshot(
        version=__version__,
        started=started,
        agents={name: slot.history.state for name, slot in supervisor.slots.items()},
        channels={
            adapter.status.name: adapter.status.state for adapter in list_used_adapters(adapters)
        },
        servers={state.name: state.state for state in servers.list_states()},
    )


async def check_health(
    store: Store,
    adapters: Iterable[Adapter],
    now: float,
    *,
    admitting: bool,
    faults: Iterable[str] = (),
    holds: Iterable[Hold] = (),
    proof_age: float = 0.0,
) -> protocol.HealthReport:
    """Return whether messages are received, stored (tested with a write) and answered.

    ``now`` is in seconds since the epoch; ``faults`` are those of parts.
    ``holds`` are the chats to which platforms currently forbid sending. A write at most
    ``proof_age`` seconds old is not repeated.
    """
    reasons = [] if admitting else ["the daemon is stopping"]
    reasons += faults
    deaf = [adapter for adapter in list_used_adapters(adapters) if not _is_receiving(adapter, now)]
    reasons += [_describe_silence(adapter.status) for adapter in deaf]
    try:
        with anyio.fail_after(WRITE_TIMEOUT):
            proven = await store.read(liveness.load_write_proof_time) if proof_age else 0
            if not 0 <= round(now * 1000) - proven <= proof_age * 1000:
                await store.transact_once(liveness.prove_writable, round(now * 1000))
    except TimeoutError:
        reasons.append(f"the journal did not take a write in {WRITE_TIMEOUT:.0f} seconds")
    except (JournalError, StorageFailedError) as error:
        reasons.append(f"the journal cannot be written: {error}")
    notes: list[str] = []
    for hold in holds:
        silent = hold.chat_id == BOT and hold.seconds > MAX_HOLD_SECONDS
        (reasons if silent else notes).append(_describe_hold(hold, now))
    return protocol.HealthReport(ready=not reasons, reasons=tuple(reasons), notes=tuple(notes))


def list_processes(
    supervisor: Supervisor, servers: RemoteTools, others: Mapping[str, ChildProcess | None]
) -> Iterable[protocol.ProcessReport]:
    """List this process and all its running children."""
    own = build_hardened_report("it owns the home")
    yield protocol.ProcessReport(
        name="supervisor", pid=os.getpid(), sandbox=own.level, reason=own.reason
    )
    broker = None if supervisor.broker is None else supervisor.broker.child
    children = {**others, "broker": broker, "tool host": servers.child}
    workers = {f"agent {name}": slot.worker for name, slot in supervisor.slots.items()}
    for name, child in {**children, **workers}.items():
        if child is not None:
            found = child.sandbox
            yield protocol.ProcessReport(
                name=name, pid=child.pid, sandbox=found.level, reason=found.reason
            )


def _describe_hold(hold: Hold, now: float) -> str:
    where = "any chat" if hold.chat_id == BOT else str(ChatName(hold.channel, hold.chat_id))
    until = datetime.fromtimestamp(now + hold.seconds, UTC)
    return (
        f"channel {hold.channel} sends nothing to {where} until {until:%Y-%m-%d %H:%M:%S} UTC:"
        " its platform had too many messages"
    )


def list_used_adapters(adapters: Iterable[Adapter]) -> list[Adapter]:
    """List the channels that are not off."""
    return [adapter for adapter in adapters if adapter.status.state != "off"]


def _is_receiving(adapter: Adapter, now: float) -> bool:
    """Judge a channel by its last poll, or by its state if it does not poll."""
    last_ok = adapter.status.last_ok
    return adapter.status.state == "ok" if last_ok is None else now - last_ok < POLL_AGE


def _describe_silence(channel: ChannelStatus) -> str:
    """Explain why a channel receives nothing."""
    why = channel.detail or channel.state
    if channel.last_ok is None:
        return f"channel {channel.name}: {why}"
    return (
        f"channel {channel.name} has not heard from its platform for {POLL_AGE:.0f} seconds ({why})"
    )


def list_troubles(agents: Iterable[AgentReport], servers: Iterable[KnownServer]) -> Iterator[str]:
    """Yield each agent that takes no messages and each fault of an MCP server, with the reason."""
    for agent in agents:
        if agent.paused:
            yield f"agent '{agent.agent_id}' is paused: {agent.paused}"
        if agent.state in (WorkerState.FATAL, WorkerState.QUARANTINED):
            yield f"agent '{agent.agent_id}' does not run ({agent.state}): {agent.reason}"
    for server in servers:
        if server.state == "failed":
            yield f"MCP server '{server.name}' has failed: {server.error}"
        yield from (f"MCP server '{server.name}': {note}" for note in server.notes)


def list_unheard_groups(file: AgentsFile, channels: Iterable[ChannelStatus]) -> Iterator[str]:
    """Yield the reasons why channels do not receive group messages that their rules answer."""
    guarded = file.channels.list_chat_channels()
    for channel in channels:
        settings = guarded.get(channel.name)
        if channel.withheld and settings is not None and settings.groups.is_listening:
            yield UNHEARD.format(name=channel.name, why=channel.withheld)


def announce_ready(
    home: Path, configuration: Configuration, supervisor: Supervisor, adapters: Iterable[Adapter]
) -> None:
    """Log that the daemon is ready, with hints for its operator.

    In the event, ``models`` has the models of the first agents: ``demo``, or provider and model.
    """
    every = (slot.spec for slot in supervisor.slots.values() if slot.spec.parent is None)
    specs = sorted(islice(every, MAX_NAMED), key=lambda spec: spec.agent_id)
    models = {spec.agent_id: (spec.endpoint.provider, spec.endpoint.model) for spec in specs}
    facts: dict[str, object] = {
        "version": __version__,
        "config": str(configuration.path),
        "count": len(supervisor.slots),
        "agents": [spec.agent_id for spec in specs],
        "channels": sorted(adapter.name for adapter in list_used_adapters(adapters)),
        "models": {agent: name_model(*model) for agent, model in models.items()},
    }
    log.info("ready", home=str(home), **facts)
    for hint in list_hints(configuration, supervisor):
        log.info("hint", text=hint)


def list_hints(configuration: Configuration, supervisor: Supervisor) -> Iterable[str]:
    """Yield hints for the operator: demo models, use of the last good copy."""
    if configuration.fallen_back:
        yield f"{configuration.path} is broken, so the last good copy is in use; correct the file"
    specs = (slot.spec for slot in supervisor.slots.values())
    demo = (one.agent_id for one in specs if one.endpoint.provider == "demo" and not one.parent)
    yield from (DEMO_HINT.format(agent=agent_id) for agent_id in islice(demo, MAX_NAMED))


def list_awaited_decisions(db: Database, now: int) -> list[str]:
    """Return a hint for each chat that waits for a person's decision."""
    return [
        WAITS.format(
            chat=format_chat_name(approval.chat_key),
            tool=approvals.name_calls(approvals.load_question(db, approval)),
        )
        for approval in approvals.list_pending_approvals(db, now)
    ]
