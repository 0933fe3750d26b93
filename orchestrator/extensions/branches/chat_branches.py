"""``/rewind`` and ``/fork`` in a chat, as answers to the message from which to go on.

In a private chat its person may rewind; in a group only an operator may. A fork is a conversation
of the operator on the page.

Where: is /rewind answered?
"""

import hashlib
from collections.abc import Callable

from orchestrator.agentsfile.chat_roles import covers_role
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.branches import branching, left_behind
from orchestrator.extensions.branches.branching import BranchPoint
from orchestrator.inbound import commands
from orchestrator.inbound.commands import ChatCommand
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox
from orchestrator.journal.turns.outbox import Address

REWIND_ABOUT = "as an answer to a message: go on from there and leave what came after it"
FORK_ABOUT = "as an answer to a message: go on from there in a new chat on the page"
WHICH = "Answer the message from which I should go on with /{name}."
UNKNOWN = "I do not know that message, or it is too old; choose another one"
NOT_HERE = "Only my operator may use /rewind in a group."
OPEN = "Go on there: /chats/{key}\norchestrator dashboard opens the page."
# The turn of a message with the platform's number ?1: one that came, or one of the agent's newest
# in each conversation of the chat.
RECEIVED = """SELECT turn_id FROM inbox WHERE message_id = ? AND channel = ? AND bot_id = ?
AND chat_id = ? AND turn_id IS NOT NULL ORDER BY id DESC LIMIT 1"""
SENT = """SELECT turn.id FROM session JOIN turn ON turn.session_id = session.id
  AND turn.started_at >= (SELECT min(started_at) FROM (SELECT started_at FROM turn AS own
    WHERE own.session_id = session.id ORDER BY started_at DESC LIMIT 1000) AS newest)
JOIN outbox ON outbox.turn_id = turn.id WHERE ?1 IN(msg_id, ph_id) AND session.agent_id = ?2
AND session.chat_key = ?3 AND outbox.chat_key = ?3 ORDER BY outbox.id DESC LIMIT 1"""


def answer_rewind(db: Database, command: ChatCommand) -> str:
    """Return the answer to ``/rewind``."""
    if not (command.message.private or covers_role(command.role, "operate")):
        return NOT_HERE
    return _answer_with(db, command, _rewind_chat)


def answer_fork(db: Database, command: ChatCommand) -> str:
    """Return the answer to ``/fork``, with the place of the new chat."""
    return _answer_with(db, command, _fork_chat)


def _answer_with(
    db: Database,
    command: ChatCommand,
    change: Callable[[Database, ChatCommand, BranchPoint], str],
) -> str:
    if command.message.reply_to is None:
        return WHICH.format(name=command.name)
    try:
        return change(db, command, _load_answered_point(db, command))
    except OrchestratorError as error:
        text = str(error)
        return f"{text[:1].upper()}{text[1:]}."


def _rewind_chat(db: Database, command: ChatCommand, point: BranchPoint) -> str:
    child = branching.rewind_conversation(db, point, command.sender, command.rules.clock())
    return left_behind.describe_rewind(child, left_behind.find_left_behind(db, child))


def _fork_chat(db: Database, command: ChatCommand, point: BranchPoint) -> str:
    bound = f"{command.chat_key}\0{command.message.message_id}"  # a number must not be random here
    number = hashlib.sha256(bound.encode()).hexdigest()[:8]
    address = Address("web", "local", f"operator/fork-{number}")
    child = branching.fork_conversation(db, point, address, command.sender, command.rules.clock())
    left = left_behind.find_left_behind(db, child)
    text = left_behind.describe_fork(child, left, command.message.channel)
    outbox.add_notice(db, address, text, command.rules.clock())
    return f"{text}\n{OPEN.format(key=address.chat_key)}"


def _load_answered_point(db: Database, command: ChatCommand) -> BranchPoint:
    """Return the point at the end of the answered message's turn.

    Raises:
        UnknownNameError: the message is unknown here, or its turn left nothing.
    """
    message, agent_id = command.message, commands.find_agent_here(db, command)
    chat = message.channel, message.bot_id, message.chat_id
    turn_id = db.execute(RECEIVED, (message.reply_to, *chat)).get
    turn_id = turn_id or db.execute(SENT, (message.reply_to, agent_id, command.chat_key)).get
    if turn_id is None:
        raise UnknownNameError(UNKNOWN)
    return branching.load_point(db, str(turn_id))
