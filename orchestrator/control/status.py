"""Judge whether the daemon is ready, and say what an operator should know of it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import anyio
import structlog

from orchestrator import __version__
from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.channel_api import Adapter, ChannelStatus
from orchestrator.configuration import Configuration
from orchestrator.control import protocol
from orchestrator.errors import JournalError
from orchestrator.inbound.commands import DaemonSnapshot
from orchestrator.journal.db import liveness
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.outbound.flood_control import BOT, Hold
from orchestrator.processes.child_process import ChildProcess
from orchestrator.processes.restarts import WorkerState
from orchestrator.processes.supervisor import Supervisor
from orchestrator.tools.mcp.servers import McpServers
from thinker.jail.hardening import hardened_report
from thinker.protocol.names import ChatName

POLL_AGE = 120.0  # seconds since its last successful poll after which a channel is not ready
BRIEF = 60.0  # seconds for which a whole bot may be silent and the daemon count as ready
WRITE_TIMEOUT = 5.0  # seconds for one small write; a disk that takes longer is stuck
DEMO_HINT = (
    "agent {agent!r} uses the built-in demo model (rules, no language model);"
    " run: orchestrator setup, or start Ollama"
)
UNHEARD = "channels.{name}.groups answers messages that do not name the bot, but {why}"

log = structlog.get_logger()


def glance(
    supervisor: Supervisor, servers: McpServers, adapters: Iterable[Adapter], started: int
) -> DaemonSnapshot:
    """Return what ``/status`` shows in a chat; ``started`` in milliseconds since the epoch."""
    return DaemonSnapshot(
        version=__version__,
        started=started,
        agents={name: slot.history.state for name, slot in supervisor.slots.items()},
        channels={adapter.status.name: adapter.status.state for adapter in in_use(adapters)},
        servers={state.name: state.state for state in servers.states()},
    )


async def health(
    store: Store,
    adapters: Iterable[Adapter],
    now: float,
    *,
    admitting: bool,
    scheduler: str | None = None,
    holds: Iterable[Hold] = (),
    proof_age: float = 0.0,
) -> protocol.HealthReport:
    """Return whether messages are received, stored (tested with a write) and answered.

    ``now`` is in seconds since the epoch; ``scheduler`` is the scheduler's problem, if any.
    ``holds`` is what platforms want nothing sent to. A write that is at most ``proof_age`` seconds
    old is not made again.
    """
    reasons = [] if admitting else ["the daemon is stopping"]
    reasons += [] if scheduler is None else [scheduler]
    deaf = [adapter for adapter in in_use(adapters) if not _receives(adapter, now)]
    reasons += [_why_deaf(adapter.status) for adapter in deaf]
    try:
        with anyio.fail_after(WRITE_TIMEOUT):
            proven = await store.read(liveness.proven) if proof_age else 0
            if not 0 <= round(now * 1000) - proven <= proof_age * 1000:
                await store.attempt(liveness.prove_writable, round(now * 1000))
    except TimeoutError:
        reasons.append(f"the journal did not take a write in {WRITE_TIMEOUT:.0f} seconds")
    except (JournalError, StorageFailedError) as error:
        reasons.append(f"the journal cannot be written: {error}")
    notes: list[str] = []
    for hold in holds:
        silent = hold.chat_id == BOT and hold.seconds > BRIEF
        (reasons if silent else notes).append(_told(hold, now))
    return protocol.HealthReport(ready=not reasons, reasons=tuple(reasons), notes=tuple(notes))


def processes(
    supervisor: Supervisor, servers: McpServers, others: Mapping[str, ChildProcess | None]
) -> Iterable[protocol.ProcessReport]:
    """Yield this process and all its children that run."""
    own = hardened_report("it owns the home")
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


def _told(hold: Hold, now: float) -> str:
    where = "any chat" if hold.chat_id == BOT else str(ChatName(hold.channel, hold.chat_id))
    until = datetime.fromtimestamp(now + hold.seconds, UTC)
    return (
        f"channel {hold.channel} sends nothing to {where} until {until:%Y-%m-%d %H:%M:%S} UTC:"
        " its platform had too many messages"
    )


def in_use(adapters: Iterable[Adapter]) -> list[Adapter]:
    """Return the channels that are not off."""
    return [adapter for adapter in adapters if adapter.status.state != "off"]


def _receives(adapter: Adapter, now: float) -> bool:
    """Judge a channel by its last poll; one that does not poll by its state."""
    last_ok = adapter.status.last_ok
    return adapter.status.state == "ok" if last_ok is None else now - last_ok < POLL_AGE


def _why_deaf(channel: ChannelStatus) -> str:
    """Say why a channel receives nothing; only one that polls can have heard nothing."""
    why = channel.detail or channel.state
    if channel.last_ok is None:
        return f"channel {channel.name}: {why}"
    return (
        f"channel {channel.name} has not heard from its platform for {POLL_AGE:.0f} seconds ({why})"
    )


class KnownServer(Protocol):
    """What is known of an MCP server."""

    @property
    def name(self) -> str:
        """Its name in agents.json."""

    @property
    def state(self) -> str:
        """Whether it is connected."""

    @property
    def error(self) -> str:
        """Why it is not."""


def troubles(
    agents: Iterable[protocol.AgentReport], servers: Iterable[KnownServer]
) -> Iterator[str]:
    """Yield the agents that take no messages and the MCP servers that have failed, with reasons."""
    for agent in agents:
        if agent.paused:
            yield f"agent '{agent.agent_id}' is paused: {agent.paused}"
        if agent.state in (WorkerState.FATAL, WorkerState.QUARANTINED):
            yield f"agent '{agent.agent_id}' does not run ({agent.state}): {agent.reason}"
    for server in servers:
        if server.state == "failed":
            yield f"MCP server '{server.name}' has failed: {server.error}"


def unheard(file: AgentsFile, channels: Iterable[ChannelStatus]) -> Iterator[str]:
    """Yield what keeps channels from hearing the messages that their rules for groups answer."""
    guarded = file.channels.guarded()
    for channel in channels:
        settings = guarded.get(channel.name)
        if channel.withheld and settings is not None and settings.groups.listens:
            yield UNHEARD.format(name=channel.name, why=channel.withheld)


def problems(found: Iterable[Problem]) -> tuple[protocol.ConfigProblem, ...]:
    return tuple(map(protocol.ConfigProblem.from_object, found))


def announce(
    home: Path, configuration: Configuration, supervisor: Supervisor, adapters: Iterable[Adapter]
) -> None:
    """Tell the log of a daemon that is ready, and what its operator should know.

    ``models`` says what each agent thinks with: ``demo``, or a provider and a model.
    """
    specs = [slot.spec for slot in supervisor.slots.values() if slot.spec.parent is None]
    models = {spec.agent_id: (spec.endpoint.provider, spec.endpoint.model) for spec in specs}
    facts: dict[str, object] = {
        "version": __version__,
        "config": str(configuration.path),
        "agents": sorted(supervisor.slots),
        "channels": sorted(adapter.name for adapter in in_use(adapters)),
        "models": {
            agent: provider if provider == "demo" else f"{provider} {model}"
            for agent, (provider, model) in models.items()
        },
    }
    log.info("ready", home=str(home), **facts)
    for hint in hints(configuration, supervisor):
        log.info("hint", text=hint)


def hints(configuration: Configuration, supervisor: Supervisor) -> Iterable[str]:
    """Yield what an operator should know beside the problems: demo models, the last good copy."""
    if configuration.fallen_back:
        yield f"{configuration.path} is broken, so the last good copy is in force; correct the file"
    for slot in supervisor.slots.values():
        if slot.spec.endpoint.provider == "demo" and slot.spec.parent is None:
            yield DEMO_HINT.format(agent=slot.spec.agent_id)
