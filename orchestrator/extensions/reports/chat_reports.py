"""The reports of chat commands: the state of the daemon, its agents and its tasks."""

from collections.abc import Mapping
from datetime import timedelta

from orchestrator.inbound.commands import (
    ChatCommand,
    ChatCommandEntry,
    DaemonSnapshot,
    find_agent_here,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.schedule import tasks
from orchestrator.journal.turns import inbox, pauses, turns
from orchestrator.processes.restarts import WorkerState
from orchestrator.schedules.describe import format_local_time

MAX_AGENTS = 30  # in an answer


def describe_daemon(db: Database, snapshot: DaemonSnapshot, now: int) -> str:
    """Return lines about the daemon's parts and messages; ``now`` in ms since the epoch."""
    counts = recent_turns.count_messages_by_state(db)
    up = timedelta(seconds=(now - snapshot.started) // 1000)
    parts = {
        "Agents": _list_shown_agents(db, snapshot),
        "Channels": snapshot.channels,
        "Tool servers": snapshot.servers,
    }
    return "\n".join(
        [
            f"orchestrator {snapshot.version}, up {up}",
            *(f"{name}: {_format_states(states)}" for name, states in parts.items() if states),
            "Messages: {claimed} in progress, {new} waiting, {dead} dead".format(**counts),
        ]
    )


def _list_agent_states(db: Database, snapshot: DaemonSnapshot) -> dict[str, str]:
    paused = {agent: f"PAUSED ({reason})" for agent, reason in pauses.describe_pauses(db).items()}
    return {name: paused.get(name, state) for name, state in snapshot.agents.items()}


def _list_shown_agents(
    db: Database, snapshot: DaemonSnapshot, here: str | None = None
) -> dict[str, str]:
    """Return the states of a few agents: if some are left out, those that stand by come last.

    The last entry tells how many are left out.
    """
    states = _list_agent_states(db, snapshot)
    if len(states) <= MAX_AGENTS:
        return states
    shown = sorted(states, key=lambda name: (name != here, states[name] == WorkerState.STOPPED))
    rest = len(states) - MAX_AGENTS
    return {name: states[name] for name in shown[:MAX_AGENTS]} | {f"{rest} more": "left out"}


def describe_chat(db: Database, snapshot: DaemonSnapshot, key: str, here: str | None) -> str:
    """Return what the people of a chat may know: their agent, and whether it is at work."""
    state = _list_agent_states(db, snapshot).get(here or "", "unknown")
    agent = f"{here}: {state}" if here else "No agent answers this chat."
    busy = inbox.has_work(db, key) or turns.has_open_turn(db, key)
    work = "An answer is under way or waits." if busy else "Nothing waits here."
    return f"{agent}\n{work}"


def describe_agents(db: Database, snapshot: DaemonSnapshot, here: str | None) -> str:
    """Return a line for each agent; ``here`` is the one that answers in the chat."""
    return "\n".join(
        f"{name}: {state}{' - answers here' if name == here else ''}"
        for name, state in _list_shown_agents(db, snapshot, here).items()
    )


def describe_tasks(db: Database) -> str:
    """Return a line for each scheduled task."""
    lines = [
        f"{task.id} {task.name} ({task.agent_id}): "
        + (task.state if task.next_at is None else format_local_time(task.next_at, task.spec.zone))
        for task in tasks.list_tasks(db)
    ]
    return "\n".join(lines) or "No task is scheduled."


def _format_states(states: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {state}" for name, state in states.items())


def _answer_status(db: Database, command: ChatCommand) -> str:
    if command.role != "operate":
        here = find_agent_here(db, command)
        return describe_chat(db, command.snapshot, command.chat_key, here)
    return describe_daemon(db, command.snapshot, command.rules.clock())


def _answer_agents(db: Database, command: ChatCommand) -> str:
    here = find_agent_here(db, command)
    return describe_agents(db, command.snapshot, here)


def _answer_tasks(db: Database, command: ChatCommand) -> str:
    del command
    return describe_tasks(db)


COMMANDS: Mapping[str, ChatCommandEntry] = {
    "status": ChatCommandEntry(
        "state of this chat; for operators, of the daemon", "talk", _answer_status
    ),
    "agents": ChatCommandEntry(
        "list the agents, and which one answers here", "operate", _answer_agents
    ),
    "tasks": ChatCommandEntry("list the scheduled tasks", "operate", _answer_tasks),
}
