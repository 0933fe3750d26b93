"""The methods with which the page and the command line rewind and fork conversations."""

from collections.abc import Mapping
from functools import partial

from pydantic import JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import UNKNOWN_NAME
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import Part
from orchestrator.extensions.branches import branching, left_behind
from orchestrator.extensions.branches.branching import BranchPoint, ChildSession
from orchestrator.extensions.branches.left_behind import LeftBehind
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import trace
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.owners import is_owned
from orchestrator.placement import Share
from thinker.protocol.names import ChatName, format_chat_name
from thinker.protocol.peer import FAILED, RequestHandler, RpcError

FORK = "branches/fork"  # BranchRequest → BranchReport
REWIND = "branches/rewind"  # BranchRequest → BranchReport
OPERATOR, PAGE = "operator", "web:"  # who calls: the terminal, or a login to the page
WEB, CONSOLE = "web", "console"  # the channels that a fork may be in
NOT_YOURS = "you may rewind and fork only your own chats; ask an operator"
AT_OTHER_NODE = "agent {agent!r} works at another node; try again, with the turn's id: {turn}"
WHERE = "a fork is a chat of the page or of the console: web, console, or such a chat's name"
RIGHTS = """SELECT min(iif(role = 'operator', 1, 0)) FROM web_session
WHERE "user" = ? AND ends_at > ?"""


class BranchRequest(CamelModel):
    """The turn after which a conversation goes on, and the ``chat`` for a fork.

    That is ``web``, ``console``, or the whole name of a new chat there.
    """

    turn: str
    chat: str | None = None


class BranchReport(CamelModel):
    """A conversation that goes on: its chat and agent, and what cannot be taken back.

    ``url`` is its place on the page. ``facts`` and ``tasks`` are the ids of what was stored since,
    which a person may still forget or end.
    """

    chat: str
    agent: str
    text: str
    url: str | None = None
    facts: tuple[int, ...] = ()
    tasks: tuple[int, ...] = ()


class BranchesPart(Part):
    """Rewinds and forks for operators, and for people of the page in their own chats."""

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {FORK: partial(self._branch, by, FORK), REWIND: partial(self._branch, by, REWIND)}

    async def _branch(self, by: str, method: str, params: JsonValue) -> BranchReport:
        daemon, asked = self.daemon, BranchRequest.model_validate(params)
        change = _fork_chat if method == FORK else _rewind_chat
        fresh = daemon.machine.random_bytes(4).hex()
        now = daemon.machine.clock()
        try:
            share = daemon.placement.share
            report = await daemon.store.transact(change, asked, by, fresh, now, share)
        except OrchestratorError as error:
            code = UNKNOWN_NAME if isinstance(error, UnknownNameError) else FAILED
            raise RpcError(code, str(error)) from error
        daemon.delivery.wake()
        daemon.approvals.wake()
        return report


def _fork_chat(
    db: Database, asked: BranchRequest, by: str, fresh: str, now: int, share: Share | None
) -> BranchReport:
    point = _find_point(db, asked.turn, by, now, share)
    address = _choose_address(asked.chat or WEB, by, fresh)
    _require_own_chat(db, address.chat_key, by, now)
    child = branching.fork_conversation(db, point, address, by, now)
    left = left_behind.find_left_behind(db, child)
    text = left_behind.describe_fork(child, left, format_chat_name(point.chat_key))
    return _report_child(db, child, left, text, now)


def _rewind_chat(
    db: Database, asked: BranchRequest, by: str, fresh: str, now: int, share: Share | None
) -> BranchReport:
    del fresh
    point = _find_point(db, asked.turn, by, now, share)
    child = branching.rewind_conversation(db, point, by, now)
    left = left_behind.find_left_behind(db, child)
    return _report_child(db, child, left, left_behind.describe_rewind(child, left), now)


def _find_point(db: Database, name: str, by: str, now: int, share: Share | None) -> BranchPoint:
    """Return the point after a turn; only the operator at the terminal may shorten its id."""
    known = db.execute("SELECT id FROM turn WHERE id = ?", (name,)).get
    if known is None and by == OPERATOR:
        found = trace.load_trace(db, name).turns
        known = found[-1] if found else None
    if known is None:
        raise UnknownNameError(f"there is no turn {name!r}")
    _require_own_chat(db, turns.load_turn(db, str(known)).chat_key, by, now)
    point = branching.load_point(db, str(known))
    if not is_owned(point.agent_id, share):
        raise OrchestratorError(AT_OTHER_NODE.format(agent=point.agent_id, turn=known))
    return point


def _require_own_chat(db: Database, chat_key: str, by: str, now: int) -> None:
    """Refuse a person of the page a chat of others, unless every login of theirs operates."""
    if by == OPERATOR:
        return
    user = by.removeprefix(PAGE)
    if by.startswith(PAGE) and chat_key.startswith(f"{WEB}/local/{user}/"):
        return
    if not db.execute(RIGHTS, (user, now)).get:
        raise OrchestratorError(NOT_YOURS)


def _choose_address(wanted: str, by: str, fresh: str) -> Address:
    user = by.removeprefix(PAGE) if by.startswith(PAGE) else OPERATOR
    if wanted in (WEB, CONSOLE):
        wanted = f"{wanted}:{user}/fork-{fresh}" if wanted == WEB else f"{wanted}:fork-{fresh}"
    chat = ChatName.parse(wanted)
    if chat.channel not in (WEB, CONSOLE) or chat.thread_id:
        raise OrchestratorError(WHERE)
    return Address(chat.channel, "local", chat.chat_id)


def _report_child(
    db: Database, child: ChildSession, left: LeftBehind, text: str, now: int
) -> BranchReport:
    """Say in its chat where a conversation begins, and return that."""
    address = child.address
    outbox.add_notice(db, address, text, now)
    url = f"/chats/{address.chat_key}" if address.channel == WEB else None
    facts, tasks = (tuple(number for number, _ in items) for items in (left.facts, left.tasks))
    return BranchReport(
        chat=address.name, agent=child.agent_id, text=text, url=url, facts=facts, tasks=tasks
    )
