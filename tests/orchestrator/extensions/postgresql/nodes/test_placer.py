"""How the nodes of a journal share the groups of agents."""

from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from fakes.journal import update
from fakes.postgresql import needs_server
from fakes.sharing import SharedJournal, session_of

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql.group_locks import GROUPS, find_group
from orchestrator.extensions.postgresql.nodes import placer, sharing_state
from orchestrator.extensions.postgresql.nodes.placer import Placer
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox, turns
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.turns import TurnAdmission
from orchestrator.journal_address import DatabaseServer
from orchestrator.placement import Node, Share
from orchestrator.wakeup import Wakeup

pytestmark = needs_server
AGENTS = AgentsFile.model_validate(
    {"agents": [{"agentId": name, "model": "m"} for name in ("work", "home", "play")]}
)


class PlacedNode:
    """A node, at a time that its test sets; ``agents`` are those of agents.json."""

    def __init__(self, store: Store, url: str) -> None:
        self.now, self.usable, self.woken = 0.0, True, 0
        self.guard = Wakeup()
        self.running = {"work", "home"}  # agents with a turn
        view: Any = SimpleNamespace(
            store=store,
            settings=SimpleNamespace(node_url=url, paths=None),
            machine=SimpleNamespace(monotonic=lambda: self.now, clock=lambda: 1),
            stopping=anyio.Event(),
            get_agents_file=lambda: AGENTS,
            operations=SimpleNamespace(dispatcher=self, guard=self.guard),
            delivery=SimpleNamespace(doubt_chats=lambda _: None),
            control=SimpleNamespace(wake=self.count_wake),
            approvals=SimpleNamespace(wake=lambda: None),
            epoch=1,
        )
        self.view, self.store = view, store
        self.placer = Placer(view, store.storage, lambda: self.usable)  # type: ignore[arg-type]

    def leave_turns(self, share: Share) -> bool:
        """End the turns of a share; only at the next look they are gone."""
        left = {name for name in self.running if name in share}
        self.running -= left
        return not left

    def count_wake(self) -> None:
        """Count how often the node was told to look for work."""
        self.woken += 1

    async def looks(self, *, after: float = 0.0, times: int = 1) -> int:
        """Let it look, each time after so many seconds; return how many groups it has."""
        for _ in range(times):
            self.now += after
            await self.placer.place_groups()
        assert self.placer.share.groups == {*session_of(self.store).epochs}
        return len(self.placer.share.groups)


def open_turn_of_work(db: Database) -> None:
    """Open a turn of the agent ``work``, which runs."""
    inbox.ingest(db, [Arrival(update(1))], None, 1)
    row = inbox.find_oldest_new(db, "telegram/1/7/")
    assert row is not None
    turns.admit_message(db, row, TurnAdmission("t1", "work", 1, 15, "1"), 1)


@pytest.fixture
def journal(server: DatabaseServer) -> Iterator[SharedJournal]:
    """The journal of the nodes."""
    with ExitStack() as stack:
        yield SharedJournal(server, stack)


@pytest.fixture
def nodes(journal: SharedJournal, monkeypatch: pytest.MonkeyPatch) -> tuple[PlacedNode, PlacedNode]:
    """Two nodes."""
    monkeypatch.setattr(placer, "find_installed", lambda: SimpleNamespace(own={}))
    first = PlacedNode(journal.first, "http://one")
    return first, PlacedNode(journal.second, "http://two")


async def test_first_node_takes_everything(nodes: tuple[PlacedNode, PlacedNode]) -> None:
    """The second one finds out where the agents are."""
    first, second = nodes
    assert await first.looks() == GROUPS
    assert first.placer.owns("work")
    assert first.woken
    assert await second.looks() == 0
    assert not second.placer.owns("work")
    assert second.placer.find_owner("work").url == "http://one"  # type: ignore[union-attr]
    assert first.placer.find_owner("work") is None


async def test_node_that_joins_gets_its_share_slowly(nodes: tuple[PlacedNode, PlacedNode]) -> None:
    """After a while in which no other one came, a group at a time; agents before empty groups."""
    first, second = nodes
    await first.looks()
    await second.looks()
    assert await first.looks(after=1) == GROUPS
    assert await first.looks(after=placer.CALM - 1) == GROUPS
    assert await first.looks(after=2) == GROUPS - 1
    assert await first.looks() == GROUPS - 1
    assert await second.looks() == 1
    assert [second.placer.owns(name) for name in ("work", "home", "play")].count(True) == 1
    assert await first.looks(after=2, times=100) == 2 + 63
    assert await second.looks() == 1 + 62
    assert await second.looks(after=60, times=3) == 63


async def test_groups_of_a_node_that_ended_are_taken_at_once(
    nodes: tuple[PlacedNode, PlacedNode], journal: SharedJournal
) -> None:
    """All of them."""
    first, second = nodes
    await first.looks()
    await second.looks()
    journal.first.close()
    while await second.looks() == 0:
        pass  # the server notices the end of a session a little later
    assert len(second.placer.share.groups) == GROUPS
    assert second.placer.find_owner("work") is None


async def test_agent_with_a_workspace_waits_for_its_home(
    nodes: tuple[PlacedNode, PlacedNode],
    journal: SharedJournal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its files are there; after a minute it goes on without them."""
    first, second = nodes
    served = SimpleNamespace(list_tool_servers=lambda _, __: {"workspace@work": None})
    monkeypatch.setattr(placer, "find_installed", lambda: SimpleNamespace(own={"w": served}))
    await first.looks()
    await second.looks()
    journal.first.close()
    while await second.looks() < GROUPS - 1:
        pass
    assert not second.placer.owns("work")
    assert await second.looks(after=placer.AWAY - 1) == GROUPS - 1
    assert await second.looks(after=1) == GROUPS


async def test_group_with_a_running_turn_is_given_later(
    nodes: tuple[PlacedNode, PlacedNode],
) -> None:
    """Or one whose message is being sent; another group goes first."""
    first, _ = nodes
    await first.looks()
    session = session_of(first.store)
    await first.store.transact(
        lambda db: db.execute(
            "INSERT INTO outbox(part, channel, bot_id, chat_id, chat_key, mode, body, markdown,"
            " state, created_at) VALUES(0, 't', '1', '7', 't/1/7/', 'direct', '', 0, 'sending', 1)"
        )
    )
    both = {find_group("t/1/7/"), find_group("work")}
    given = await first.store.transact(sharing_state.give_groups, session, both)
    assert given == {find_group("work")}
    assert find_group("work") not in session.epochs
    assert find_group("t/1/7/") in session.epochs


async def test_drained_node_opens_no_turns_for_what_it_still_has(
    nodes: tuple[PlacedNode, PlacedNode], journal: SharedJournal
) -> None:
    """A busy agent would never leave it; once it is the only node, it works on."""
    first, second = nodes
    await first.looks()
    await first.store.transact(open_turn_of_work)
    await first.store.transact(sharing_state.drain_node, Node("one", "http://one"))
    await second.looks()
    assert await first.looks(times=3) == 1
    assert first.placer.owns("work")
    assert first.placer.closing is not None
    assert "work" in first.placer.closing
    assert first.running == {"work"}
    woken = first.woken
    journal.second.close()
    while first.placer.closing is not None:
        await first.looks()
    assert first.woken > woken


@pytest.mark.parametrize("why", ["drained", "old configuration", "stops"])
async def test_node_gives_everything_away(nodes: tuple[PlacedNode, PlacedNode], why: str) -> None:
    """If another one is there to take it."""
    first, second = nodes
    await first.looks()
    if why == "drained":
        await first.store.transact(sharing_state.drain_node, Node("one", "http://one"))
    elif why == "stops":
        first.view.stopping.set()
    else:
        first.usable = False
    assert await first.looks(times=3) == GROUPS
    assert first.placer.closing is None  # nobody would take them
    await second.looks()
    assert await first.looks() == 0
    assert first.running == set()  # they waited, and go on at the other node
    assert await second.looks(times=2) == GROUPS


async def test_turns_that_wait_are_left_to_the_node_that_gets_their_group(
    nodes: tuple[PlacedNode, PlacedNode],
) -> None:
    """Or their chats would be busy here when the group comes back, without an answer."""
    first, second = nodes
    await first.looks()
    await first.store.transact(sharing_state.drain_node, Node("one", "http://one"))
    await second.looks()
    while first.placer.owns("work"):
        assert "work" in first.running
        await first.looks()
    assert "work" not in first.running
    assert "home" in first.running or not first.placer.owns("home")


async def test_paused_chats_are_looked_at_when_a_group_comes(
    nodes: tuple[PlacedNode, PlacedNode],
) -> None:
    """Another node may have resumed their agents meanwhile."""
    first, _ = nodes
    changed = first.guard.changed
    await first.looks()
    assert changed.is_set()
    changed = first.guard.changed
    await first.looks()
    assert not changed.is_set()


async def test_drained_node_is_listed_and_takes_groups_again(
    nodes: tuple[PlacedNode, PlacedNode],
) -> None:
    """Also once others have all its groups, so that an operator can name it."""
    first, second = nodes
    drained = Node("one", "http://one")
    await first.store.transact(sharing_state.drain_node, drained)
    await second.looks(times=3)
    assert await first.looks() == 0
    found = await first.store.read(sharing_state.list_nodes)
    assert [tuple(one)[1:] for one in found if one.drained] == [("http://one", 0, True, True)]
    await first.store.transact(sharing_state.resume_node, drained)
    found = await first.store.read(sharing_state.list_nodes)
    assert [(one.groups, one.drained) for one in found] == [(0, False), (GROUPS, False)]


async def test_node_without_groups_is_listed_while_it_lives(
    nodes: tuple[PlacedNode, PlacedNode], journal: SharedJournal
) -> None:
    """An operator sees that it has come; one that had groups stays in the list when it has gone."""
    first, second = nodes
    await first.looks()
    await second.looks()

    async def list_lives() -> dict[str, bool]:
        found = await second.store.read(sharing_state.list_nodes)
        return {one.url: one.lives for one in found}

    assert await list_lives() == {"http://one": True, "http://two": True}
    journal.end_session(journal.second)
    assert await list_lives() == {"http://one": True}
    await second.looks(times=2)
    assert await list_lives() == {"http://one": True, "http://two": True}
    journal.end_session(journal.first)
    assert await list_lives() == {"http://one": False, "http://two": True}


async def test_account_is_held_by_one_node(
    nodes: tuple[PlacedNode, PlacedNode], journal: SharedJournal
) -> None:
    """The other one gets it when that has ended, and is told."""
    first, second = nodes
    assert not first.placer.holds("telegram")
    await first.looks(times=2)
    assert first.placer.holds("telegram")
    assert not second.placer.holds("telegram")
    await second.looks(times=2)
    assert not second.placer.holds("telegram")
    changed = second.placer.changed
    journal.first.close()
    while not second.placer.holds("telegram"):
        await second.looks()
    assert changed.is_set()


async def test_node_whose_session_has_ended_holds_no_account(
    nodes: tuple[PlacedNode, PlacedNode], journal: SharedJournal
) -> None:
    """Even while the server cannot be asked: another node may receive by it then."""
    first, _ = nodes
    first.placer.holds("telegram")
    await first.looks(times=2)
    journal.first.close()
    with pytest.raises(JournalError):
        await first.placer.place_groups()
    assert not first.placer.holds("telegram")


async def test_node_that_stops_lets_another_one_receive(
    nodes: tuple[PlacedNode, PlacedNode],
) -> None:
    """While its own turns are at their last steps; what receives here has ended before."""
    first, second = nodes
    assert not first.placer.holds("telegram")
    await first.looks(times=2)
    assert not second.placer.holds("telegram")
    first.view.stopping.set()
    await first.looks()
    assert not first.placer.holds("telegram")
    await second.looks(times=2)
    assert not second.placer.holds("telegram")
    await first.looks()
    await second.looks(times=2)
    assert second.placer.holds("telegram")
    await first.looks()
    assert not first.placer.holds("telegram")


async def test_node_looks_for_work_when_another_one_has_stored_something(
    nodes: tuple[PlacedNode, PlacedNode],
) -> None:
    """A message for an agent of its own, perhaps."""
    first, second = nodes
    await first.looks(times=2)
    await second.looks(times=3)
    before = second.woken
    await second.looks()
    assert second.woken == before
    await first.store.transact(lambda db: db.execute("INSERT INTO meta VALUES('a', '1')"))
    await second.looks()
    assert second.woken == before + 1


async def test_lost_group_costs_its_own_turns_alone(
    nodes: tuple[PlacedNode, PlacedNode], journal: SharedJournal
) -> None:
    """It can be taken again once they have ended here; the other groups are kept throughout."""
    first, _ = nodes
    work = find_group("work")
    await first.looks()
    journal.end_session(journal.first)
    await journal.take(journal.second, work)
    await journal.give(journal.second, work)
    await first.store.transact(lambda _: None)
    assert "work" not in first.placer.share  # before it has looked
    assert await first.looks() == GROUPS - 1
    assert first.running == {"home"}
    assert first.placer.owns("home")
    assert await first.looks() == GROUPS


async def test_share_of_a_moment_ends_with_the_group(
    nodes: tuple[PlacedNode, PlacedNode], journal: SharedJournal
) -> None:
    """A transaction that was begun with it finds in the writer that the agent has moved."""
    first, _ = nodes
    await first.looks()
    share = first.placer.share
    await journal.give(first.store, find_group("work"))
    assert not await first.store.transact(lambda _: "work" in share)
    assert await first.store.transact(lambda _: "home" in share)
