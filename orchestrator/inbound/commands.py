"""Chat commands such as ``/status``, answered by the daemon without a model.

A command runs inside T1, so it does not wait for its chat's open turn, and it runs once however
often the platform repeats the update. Operators may use all commands; other admitted people may
ask for help, start a new conversation and stop the answer to their own chat.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from orchestrator import chat_texts
from orchestrator.channel_api import PRESS, InboundMessage
from orchestrator.errors import OrchestratorError
from orchestrator.inbound import call_pages
from orchestrator.inbound.button_press import ButtonPress
from orchestrator.journal.access import tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.savepoints import ABORTED
from orchestrator.journal.inspect import recent
from orchestrator.journal.schedule import tasks
from orchestrator.journal.turns import (
    cancellations,
    handoffs,
    inbox,
    pauses,
    questions,
    sessions,
    subagents,
    usage,
)
from orchestrator.journal.turns.steps import unconfirmed
from orchestrator.loop_owned import LoopOwned
from orchestrator.routing import answering_agent
from orchestrator.schedules.describe import local_time
from orchestrator.spending import budgets
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.timezones import zone_or_utc

MAX_ANSWER = 3_500  # characters; fits into one message on every supported platform
FOR_ALL = ("help", "new", "stop")
HELP = {
    "help": "list the commands",
    "status": "state of the daemon, its agents and channels",
    "agents": "list the agents, and which one answers here",
    "new": "start a new conversation",
    "handback": "give a chat that was handed over back to its agent",
    "stop": "stop what I am doing here",
    "pause": "AGENT (default: this chat's agent): stop answering; messages are kept",
    "resume": "AGENT (default: this chat's agent): answer again",
    "tasks": "list the scheduled tasks",
    "usage": "tokens and cost of today and of the last seven days",
    "approve": "CODE or SERVER/TOOL: run a waiting tool call, or allow a changed tool;"
    " show CODE: read all of its arguments",
    "deny": "CODE: refuse a waiting tool call",
}
# What a channel offers, by Telegram's scopes; in groups most people are no operators.
MENU = {"default": {name: HELP[name] for name in FOR_ALL}, "all_private_chats": HELP}
ALIASES = {"start": "help"}  # Telegram sends /start when a person opens the chat
NO_AGENT = "No agent answers this chat."
_COMMAND = re.compile(r"\s*/([A-Za-z][A-Za-z0-9_]*)(?:\s+(.*))?\s*", re.DOTALL)


class DaemonSnapshot(NamedTuple):
    """The state of the daemon; ``started`` is in ms since the epoch, states are by name."""

    version: str
    started: int
    agents: Mapping[str, str]
    channels: Mapping[str, str]
    servers: Mapping[str, str]


@dataclass(frozen=True)
class Command:
    """One command of one message; T1 runs `answer` of a copy of its own.

    In that, ``operator`` says whether its sender is one, ``stopped`` collects the turns that the
    commands of T1 canceled, and ``failed`` the errors of commands with their names.
    """

    name: str
    argument: str
    message: InboundMessage
    snapshot: DaemonSnapshot
    rules: SpendingRules
    operator: bool = False
    stopped: list[str] = field(default_factory=list)
    failed: list[tuple[str, Exception]] = field(default_factory=list)

    def answer(self, db: Database) -> str:
        """Run the command and return its answer; a fault in it leaves the rest of T1 intact."""
        try:
            with db:
                text = _run(db, self)
        except ABORTED:
            raise
        except Exception as error:  # noqa: BLE001 - it counts as answered: a retry would fail again
            self.failed.append((self.name, error))
            text = chat_texts.COMMAND_FAILED
        return text if len(text) <= MAX_ANSWER else text[: MAX_ANSWER - 1] + "…"

    @property
    def by(self) -> str:
        """The sender, for the audit log."""
        return f"{self.message.channel}:{self.message.sender_id}"

    @property
    def chat(self) -> str:
        """The chat's key in the journal."""
        return inbox.address_of(self.message).chat_key


@dataclass(eq=False)
class Commands(LoopOwned):
    """Reads commands; ``on_commit`` is to be called after T1 with the turns that they canceled."""

    gate: SpendingGuard
    snapshot: Callable[[], DaemonSnapshot]
    on_commit: Callable[[Sequence[str]], None]

    def read(self, message: InboundMessage) -> Command | None:
        """Parse a message, outside of any transaction; None if it is for an agent."""
        if message.kind == PRESS and message.skip is None:
            return Command(PRESS, message.text, message, self.snapshot(), self.gate.rules())
        found = _COMMAND.fullmatch(message.text) if message.kind == "message" else None
        if found is None:
            return None
        name = found[1].lower()
        argument = (found[2] or "").strip()
        return Command(
            ALIASES.get(name, name), argument, message, self.snapshot(), self.gate.rules()
        )


def _run(db: Database, command: Command) -> str:
    if command.message.kind == PRESS:
        press = ButtonPress(command.argument, command.chat, command.by, operator=command.operator)
        return press.answer(db, command.rules.clock())
    handler = HANDLERS.get(command.name)
    if handler is None:
        return f"I don't know /{command.name}. /help lists what I understand."
    if not command.operator and command.name not in FOR_ALL:
        return f"Only my operator may use /{command.name}. /help lists what you can."
    return handler(db, command)


def _help(db: Database, command: Command) -> str:
    del db
    names = HELP if command.operator else FOR_ALL
    return "\n".join(f"/{name} - {HELP[name]}" for name in names)


def _status(db: Database, command: Command) -> str:
    snapshot = command.snapshot
    counts = recent.counts(db)
    up = timedelta(seconds=(command.rules.clock() - snapshot.started) // 1000)
    parts = {
        "Agents": _states(db, snapshot),
        "Channels": snapshot.channels,
        "Tool servers": snapshot.servers,
    }
    return "\n".join(
        [
            f"orchestrator {snapshot.version}, up {up}",
            *(f"{name}: {_listed(states)}" for name, states in parts.items() if states),
            "Messages: {claimed} in progress, {new} waiting, {dead} dead".format(**counts),
        ]
    )


def _states(db: Database, snapshot: DaemonSnapshot) -> dict[str, str]:
    paused = {agent: f"PAUSED ({reason})" for agent, reason in pauses.shown(db).items()}
    return {name: paused.get(name, state) for name, state in snapshot.agents.items()}


def _list_agents(db: Database, command: Command) -> str:
    here = _agent_of(db, command)
    return "\n".join(
        f"{name}: {state}{' - answers here' if name == here else ''}"
        for name, state in _states(db, command.snapshot).items()
    )


def _new(db: Database, command: Command) -> str:
    now = command.rules.clock()
    handoffs.take_back(db, command.chat, now)
    agent_id = _agent_of(db, command)
    if agent_id is None:
        return NO_AGENT
    sessions.end(db, agent_id, command.chat, now)
    subagents.dismiss(db, command.chat, now)
    return "This is a new conversation. I still know the facts that I have stored."


def _stop(db: Database, command: Command) -> str:
    ended = cancellations.stop(db, command.chat, f"stopped by {command.by}", command.rules.clock())
    if ended is None:
        return "I am not doing anything here."
    tools = dict.fromkeys(tool for turn_id in ended for tool in unconfirmed(db, turn_id))
    command.stopped.extend(ended)  # last: a command that fails has stopped nothing
    return "\n".join(["Stopped.", *(chat_texts.UNSURE.format(tool=tool) for tool in tools)])


def _handback(db: Database, command: Command) -> str:
    taken = handoffs.take_back(db, command.chat, command.rules.clock())
    agent_id = _agent_of(db, command)
    if not taken or agent_id is None:
        return "This chat was not handed over."
    return f"Agent '{agent_id}' answers here again."


def _order(db: Database, command: Command, *, paused: bool) -> str:
    agent_id = command.argument or _agent_of(db, command)
    if agent_id is None:
        return NO_AGENT
    if command.argument and command.rules.agents.agent(agent_id) is None:
        return f"There is no agent {agent_id!r}."
    if paused:
        command.rules.pause(db, agent_id, command.by)
        return f"Agent '{agent_id}' is paused; its messages are kept. /resume {agent_id}"
    refused = command.rules.resume(db, agent_id, command.by)
    if refused is not None:
        return f"Agent '{agent_id}' stays paused: {refused}."
    return f"Agent '{agent_id}' goes on."


def _tasks(db: Database, command: Command) -> str:
    del command
    lines = [
        f"{task.id} {task.name} ({task.agent_id}): "
        + (task.state if task.next_at is None else local_time(task.next_at, task.spec.zone))
        for task in tasks.listed(db)
    ]
    return "\n".join(lines) or "No task is scheduled."


def _usage(db: Database, command: Command) -> str:
    lines: list[str] = []
    unknown: dict[str, None] = {}
    for definition in command.rules.agents.agents:
        zone = zone_or_utc(definition.timezone, command.rules.environ)
        periods = []
        for days, period in ((0, "today"), (6, "in 7 days")):
            since = budgets.days_ago(days, command.rules.clock(), zone)
            spent = usage.spent(db, definition.agent_id, since)
            unpriced = usage.unpriced(db, definition.agent_id, since)
            unknown |= dict.fromkeys(unpriced)
            money = budgets.in_words(spent.usd, unknown=bool(unpriced))
            periods.append(f"{spent.tokens:,} tokens ({money}) {period}")
        lines.append(f"{definition.agent_id}: {', '.join(periods)}")
    if unknown:
        lines.append(budgets.without_price(tuple(unknown)))
    return "\n".join(lines)


def _decide(db: Database, command: Command, *, granted: bool) -> str:
    code = command.argument
    if granted and code.partition(" ")[0] == "show":
        return call_pages.page(db, *code.split()[1:3])
    found = questions.decide(db, code, command.by, command.rules.clock(), granted=granted)
    if found is not None:
        return f"{'Granted' if granted else 'Denied'}: {found.tool}."
    if granted and "/" in code:
        return _approve_tool(db, command)
    return f"No call waits with the code {code!r}." if code else "Which call? Write its code."


def _approve_tool(db: Database, command: Command) -> str:
    try:
        tool_pins.approve(db, command.argument, command.by, command.rules.clock())
    except OrchestratorError as error:
        return str(error)
    return f"Agents may use {command.argument} as it is now."


def _agent_of(db: Database, command: Command) -> str | None:
    return answering_agent(db, command.rules.agents, command.message, command.chat)


def _listed(states: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {state}" for name, state in states.items())


HANDLERS: Mapping[str, Callable[[Database, Command], str]] = {
    "help": _help,
    "status": _status,
    "agents": _list_agents,
    "new": _new,
    "handback": _handback,
    "stop": _stop,
    "pause": partial(_order, paused=True),
    "resume": partial(_order, paused=False),
    "tasks": _tasks,
    "usage": _usage,
    "approve": partial(_decide, granted=True),
    "deny": partial(_decide, granted=False),
}
