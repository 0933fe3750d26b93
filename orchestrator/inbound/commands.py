"""Chat commands such as ``/status``, answered by the daemon without a model.

A command runs inside T1, so it does not wait for its chat's open turn, and it runs once however
often the platform repeats the update. It counts only in its author's own fresh words: not in what
was forwarded, quoted or edited. The sender's role decides which commands are obeyed.

Where: is a chat command answered?
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from orchestrator import chat_texts, installed
from orchestrator.agentsfile.chat_roles import covers_role
from orchestrator.channel_api import PRESS, ChatRole, InboundMessage
from orchestrator.errors import OrchestratorError
from orchestrator.inbound.button_press import ButtonPress
from orchestrator.inbound.call_pages import format_call_page
from orchestrator.journal.access import tool_pins
from orchestrator.journal.db.database import ABORTED, Database
from orchestrator.journal.turns import (
    cancellations,
    handoffs,
    inbox,
    questions,
    sessions,
    subagents,
)
from orchestrator.journal.turns.steps import list_unconfirmed_tools
from orchestrator.loop_bound import LoopBound
from orchestrator.routing import find_answering_agent
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.spending.spending_rules import SpendingRules

MAX_ANSWER = 3_500  # characters; fits into one message on every supported platform
MAX_WORDS = 3  # of an argument, among which the code of a question is looked for
ALIASES = {"start": "help"}  # Telegram sends /start when a person opens the chat
NO_AGENT = "No agent answers this chat."
NAMING = ("pause", "resume")  # commands whose argument may name another agent
_COMMAND = re.compile(r"\s*/([A-Za-z][A-Za-z0-9_]*)(?:\s+(.*))?\s*", re.DOTALL)
_WORD = re.compile(r"[^\s:/]+")


class DaemonSnapshot(NamedTuple):
    """The state of the daemon; ``started`` is in ms since the epoch, states are keyed by name."""

    version: str
    started: int
    agents: Mapping[str, str]
    channels: Mapping[str, str]
    servers: Mapping[str, str]


@dataclass(frozen=True)
class ChatCommand:
    """One command of one message; T1 runs `answer_command` of its copy.

    In the copy, ``role`` is that of the sender, ``stopped`` collects the turns that commands
    cancelled, and ``failed`` the names and errors of failed commands.
    """

    name: str
    argument: str
    message: InboundMessage
    snapshot: DaemonSnapshot
    rules: SpendingRules
    role: ChatRole = "talk"
    stopped: list[str] = field(default_factory=list)
    failed: list[tuple[str, Exception]] = field(default_factory=list)

    def answer_command(self, db: Database) -> str:
        """Run the command and return its answer; a fault in it does not abort T1."""
        try:
            with db:
                text = _run_command(db, self)
        except ABORTED:
            raise
        except Exception as error:  # noqa: BLE001 - it counts as answered: a retry would fail again
            self.failed.append((self.name, error))
            text = chat_texts.COMMAND_FAILED
        return text if len(text) <= MAX_ANSWER else text[: MAX_ANSWER - 1] + "…"

    @property
    def sender(self) -> str:
        """The sender, for the audit log."""
        return f"{self.message.channel}:{self.message.sender_id}"

    @property
    def chat_key(self) -> str:
        """The chat's key in the journal."""
        return inbox.make_address(self.message).chat_key


@dataclass(eq=False)
class Commands(LoopBound):
    """Parses commands; ``on_commit`` is called after T1 with the turns that they cancelled."""

    gate: SpendingGuard
    snapshot: Callable[[], DaemonSnapshot]
    on_commit: Callable[[Sequence[str]], None]

    def parse_command(self, message: InboundMessage) -> ChatCommand | None:
        """Return the command in a message, or None if the message is for an agent.

        Call it outside of a transaction.
        """
        if message.kind == PRESS and message.skip is None:
            return ChatCommand(
                PRESS, message.text, message, self.snapshot(), self.gate.build_rules()
            )
        own = message.kind == "message" and message.origin in ("operator", "user")
        found = _COMMAND.fullmatch(message.text) if own else None
        if found is None:
            return None
        name = found[1].lower()
        argument = (found[2] or "").strip()
        return ChatCommand(
            ALIASES.get(name, name), argument, message, self.snapshot(), self.gate.build_rules()
        )


class ChatCommandEntry(NamedTuple):
    """A command that chats offer: its line in /help, the role it needs, and who answers it.

    ``answer`` runs inside T1, so it must be quick and have no effect but those on the journal.
    """

    about: str
    role: ChatRole
    answer: Callable[[Database, ChatCommand], str]


def list_chat_commands() -> dict[str, ChatCommandEntry]:
    """Return all commands, keyed by name: those of the core and of bundled extensions."""
    found = dict(COMMANDS)
    for extension in installed.find_installed().own.values():
        found |= extension.list_chat_commands()
    return found


def list_help_lines() -> dict[str, str]:
    """Return what each command does, keyed by name."""
    return {name: entry.about for name, entry in list_chat_commands().items()}


def build_menus() -> dict[str, dict[str, str]]:
    """Return what a channel offers, by Telegram's scopes; in groups most are no operators."""
    every = list_chat_commands().items()
    talk = {name: entry.about for name, entry in every if entry.role == "talk"}
    return {"default": talk, "all_private_chats": list_help_lines()}


def find_concerned_agent(db: Database, command: ChatCommand) -> str | None:
    """Return the agent whose node runs a command: of its call, or named by it, or of its chat."""
    command = _find_offered_command(db, command) or command
    if command.name in (PRESS, "approve", "deny"):
        for word in _WORD.findall(command.argument)[:MAX_WORDS]:
            asking = questions.find_asking_agent(db, word)
            if asking is not None:
                return asking
    elif command.name in NAMING and command.rules.agents.find_agent(command.argument) is not None:
        return command.argument
    return find_agent_here(db, command)


def _find_offered_command(db: Database, command: ChatCommand) -> ChatCommand | None:
    """Return the command that a pressed button offers; None if it decides about a question."""
    pressed = command.argument.rpartition(" ")[0]  # without the number of the message
    offered = _COMMAND.fullmatch(pressed) if command.message.kind == PRESS else None
    if offered is None or not questions.is_offered(db, command.chat_key, pressed):
        return None
    return replace(command, name=offered[1], argument=(offered[2] or "").strip())


def _run_command(db: Database, command: ChatCommand) -> str:
    if command.message.kind == PRESS:
        offered = _find_offered_command(db, command)
        if offered is None:
            may = covers_role(command.role, "approve")
            press = ButtonPress(command.argument, command.chat_key, command.sender, may_decide=may)
            return press.answer_press(db, command.rules.clock())
        command = offered
    entry = list_chat_commands().get(command.name)
    if entry is None:
        return f"I don't know /{command.name}. /help lists what I understand."
    if not covers_role(command.role, entry.role):
        who = "my operator" if entry.role == "operate" else "a person who may approve calls"
        return f"Only {who} may use /{command.name}. /help lists what you can."
    return entry.answer(db, command)


def _answer_help(db: Database, command: ChatCommand) -> str:
    del db
    every = list_chat_commands().items()
    allowed = (one for one in every if covers_role(command.role, one[1].role))
    return "\n".join(f"/{name} - {entry.about}" for name, entry in allowed)


def _start_new_session(db: Database, command: ChatCommand) -> str:
    now = command.rules.clock()
    handoffs.take_back_chat(db, command.chat_key, now)
    agent_id = find_agent_here(db, command)
    if agent_id is None:
        return NO_AGENT
    sessions.end_session(db, agent_id, command.chat_key, now)
    subagents.dismiss_subagents(db, command.chat_key, now)
    return "This is a new conversation. I still know the facts that I have stored."


def _stop_turns(db: Database, command: ChatCommand) -> str:
    ended = cancellations.cancel_chat_work(
        db, command.chat_key, f"stopped by {command.sender}", command.rules.clock()
    )
    if ended is None:
        return "I am not doing anything here."
    tools = dict.fromkeys(tool for turn_id in ended for tool in list_unconfirmed_tools(db, turn_id))
    command.stopped.extend(ended)  # last: a command that fails has stopped nothing
    return "\n".join(["Stopped.", *(chat_texts.UNSURE.format(tool=tool) for tool in tools)])


def _take_handoff_back(db: Database, command: ChatCommand) -> str:
    taken = handoffs.take_back_chat(db, command.chat_key, command.rules.clock())
    agent_id = find_agent_here(db, command)
    if not taken or agent_id is None:
        return "This chat was not handed over."
    return f"Agent '{agent_id}' answers here again."


def _change_pause(db: Database, command: ChatCommand, *, paused: bool) -> str:
    agent_id = command.argument or find_agent_here(db, command)
    if agent_id is None:
        return NO_AGENT
    if command.argument and command.rules.agents.find_agent(agent_id) is None:
        return f"There is no agent {agent_id!r}."
    if paused:
        command.rules.pause_agent(db, agent_id, command.sender)
        return f"Agent '{agent_id}' is paused; its messages are kept. /resume {agent_id}"
    refused = command.rules.resume_agent(db, agent_id, command.sender)
    if refused is not None:
        return f"Agent '{agent_id}' stays paused: {refused}."
    return f"Agent '{agent_id}' continues."


def _decide_call(db: Database, command: ChatCommand, *, granted: bool) -> str:
    code = command.argument
    shown = code.split()[1:3] if granted and code.partition(" ")[0] == "show" else None
    if command.role != "operate":
        asked = (shown or [""])[0] if shown is not None else code
        if not questions.is_asked_in(db, asked, command.chat_key):
            return f"No call of this chat has the code {asked!r}."
    if shown is not None:
        return format_call_page(db, *shown)
    now = command.rules.clock()
    try:
        found = questions.decide_question(db, code, command.sender, now, granted=granted)
    except OrchestratorError as error:
        return str(error)
    if found is not None:
        named = questions.name_question(db, found)
        return f"{'Granted' if granted else 'Denied'}: {named}."
    if granted and "/" in code:
        return _approve_tool(db, command)
    return f"No call waits with the code {code!r}." if code else "Which call? Write its code."


def _approve_tool(db: Database, command: ChatCommand) -> str:
    try:
        tool_pins.approve_tools(db, command.argument, command.sender, command.rules.clock())
    except OrchestratorError as error:
        return str(error)
    return f"Agents may use {command.argument} as it is now."


def find_agent_here(db: Database, command: ChatCommand) -> str | None:
    """Return the agent that answers in the command's chat, if any."""
    return find_answering_agent(db, command.rules.agents, command.message, command.chat_key)


COMMANDS: Mapping[str, ChatCommandEntry] = {
    "help": ChatCommandEntry("list the commands", "talk", _answer_help),
    "new": ChatCommandEntry("start a new conversation", "talk", _start_new_session),
    "handback": ChatCommandEntry(
        "give a chat that was handed over back to its agent", "operate", _take_handoff_back
    ),
    "stop": ChatCommandEntry("stop what I am doing here", "talk", _stop_turns),
    "pause": ChatCommandEntry(
        "AGENT (default: this chat's agent): stop answering; messages are kept",
        "operate",
        partial(_change_pause, paused=True),
    ),
    "resume": ChatCommandEntry(
        "AGENT (default: this chat's agent): answer again",
        "operate",
        partial(_change_pause, paused=False),
    ),
    "approve": ChatCommandEntry(
        "CODE or SERVER/TOOL: run waiting tool calls, or allow a changed tool;"
        " show CODE: read all of their arguments",
        "approve",
        partial(_decide_call, granted=True),
    ),
    "deny": ChatCommandEntry(
        "CODE: refuse waiting tool calls", "approve", partial(_decide_call, granted=False)
    ),
}
