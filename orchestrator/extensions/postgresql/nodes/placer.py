"""Share the groups of agents among the nodes of a journal.

Each node looks at the server's locks and takes what is free, up to its share. What it has beyond
that it gives away, one group at a time, when no turn of the group runs. A node that is to have
none gives all of these at once, and opens no turns for the rest: each is given when its turns end.

Where: on which node does an agent work?
"""

import asyncio
import math
from collections.abc import Callable, Collection
from itertools import chain
from socket import gethostname

import anyio
import orjson
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extension import DaemonView
from orchestrator.extensions.postgresql.group_locks import (
    ALL,
    GroupShare,
    find_group,
    number_name,
)
from orchestrator.extensions.postgresql.nodes import sharing_state
from orchestrator.extensions.postgresql.nodes.sharing_state import SharingState
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.installed import find_installed
from orchestrator.journal.db.store import report_failure
from orchestrator.placement import Node

LOOK = 0.5  # seconds between two looks at the other nodes
CALM = 30.0  # seconds after a node came or went, in which no group is given away
PACE = 1.0  # seconds between two groups that are given away
AWAY = 60.0  # seconds that a group with a workspace waits for its home
log = structlog.get_logger()


class Placer:
    """The placement of a node; ``usable`` says whether it has the newest configuration."""

    def __init__(
        self, daemon: DaemonView, storage: PostgresStorage, usable: Callable[[], bool]
    ) -> None:
        self.changed = asyncio.Event()
        self._session = storage.session
        self.share = GroupShare()
        self.closing: GroupShare | None = None
        self._used: tuple[AgentsFile | None, frozenset[int]] = None, frozenset()
        self._daemon = daemon
        self._usable = usable
        self._monotonic = daemon.machine.monotonic
        self._state: SharingState | None = None
        self._wanted: set[str] = set()  # names that this node tries to lock
        self._held: frozenset[str] = frozenset()
        self._free: dict[int, float] = {}  # since when groups were seen without a node
        self._calm = self._monotonic()  # until then no group is given away
        self._tries = 0

    @property
    def nodes(self) -> int:
        state = self._state
        return 1 if state is None else len(state.workers | {state.pid})

    def owns(self, agent_id: str) -> bool:
        return agent_id in self.share

    def find_owner(self, agent_id: str) -> Node | None:
        state, group = self._state, find_group(agent_id)
        return state.placed[group] if state is not None and group in state.foreign else None

    def holds(self, account: str) -> bool:
        self._wanted.add(account)
        return account in self._held

    async def run(self) -> None:
        """Take and give groups until cancelled."""
        while True:
            try:
                await self.place_groups()
            except JournalError as error:
                report_failure(error)
            await anyio.sleep(LOOK)

    async def place_groups(self) -> None:
        """Look at the other nodes once, and take and give what follows from that.

        Raises:
            JournalError: the journal cannot be used.
        """
        session, store = self._session, self._daemon.store
        # A session that ended has no locks: what ran by them ends now, also if the server is away.
        self._adopt_names(self._held & frozenset(session.names))
        pid = 0 if session.holder is None else session.holder[0]
        url = self._daemon.settings.node_url
        before = self._state
        state = await store.read(sharing_state.load_state, pid, session.daemon)
        self._state = state
        own = orjson.dumps([gethostname(), *(session.holder or ())]).decode()
        if state.marks.get(sharing_state.SEEN + url) != own:
            await store.transact(sharing_state.mark_node, url, own)
        now = self._monotonic()
        await self._leave_lost_groups()
        if before is not None and before.members != state.members:
            self._calm = now + CALM
        drained = sharing_state.DRAINED + url in state.marks
        takes = not drained and self._usable() and not self._daemon.stopping.is_set()
        if takes is not (pid in state.members):
            change = sharing_state.join_sharing if takes else sharing_state.leave_sharing
            await store.transact(change)
        await self._take_free_groups(state, now, takes=takes)
        await self._give_surplus(state, now, takes=takes)
        await self._lock_names(state)
        if before is None or before.commits != state.commits:
            self._wake()

    async def _leave_lost_groups(self) -> None:
        """Abandon the work of groups that another node has taken; they can be taken again then."""
        if not (lost := self._session.lost):
            return
        self._adopt_share()
        if self._daemon.operations.dispatcher.leave_turns(GroupShare(lost)):
            await self._daemon.store.transact(sharing_state.forget_lost, self._session, lost)

    async def _take_free_groups(self, state: SharingState, now: float, *, takes: bool) -> None:
        free = frozenset(ALL) - state.foreign - self.share.groups
        self._free = {group: self._free.get(group, now) for group in free}
        others = state.members - {state.pid}
        if self._daemon.stopping.is_set() or (others and not takes):
            return
        wanted: list[int] = []
        for part in self._split_groups():
            room = math.ceil(len(part) / (len(others) + 1)) - len(part & self.share.groups)
            at_home = sorted(part & free, key=lambda group: not self._is_home(state, group))
            found = [group for group in at_home if self._may_take(state, group, now)]
            wanted += found[: max(0, room)]
        if wanted:
            epoch, clock = self._daemon.epoch, self._daemon.machine.clock()
            take = sharing_state.take_groups
            await self._daemon.store.transact(take, self._session, wanted, epoch, clock)
            self._daemon.delivery.doubt_chats(GroupShare(frozenset(wanted)))
            self._adopt_share()

    async def _give_surplus(self, state: SharingState, now: float, *, takes: bool) -> None:
        """Give one group away if this node has too many, or all if it is to have none."""
        others, before = len(state.members - {state.pid}), self.closing
        self.closing = None if takes or not others else self.share
        if self.closing is not None:
            if self.share.groups:
                await self._give(self.share.groups)
            return
        if before is not None:
            self._wake()  # what has waited for the other nodes is done here
        if not others or now < self._calm:
            return
        for part in self._split_groups():
            mine = sorted(part & self.share.groups, key=lambda group: self._is_home(state, group))
            if len(mine) <= math.ceil(len(part) / (others + 1)):
                continue
            self._tries += 1  # the first one may be busy for long
            group = mine[self._tries % len(mine)] if self._tries % 2 else mine[0]
            if await self._give({group}):
                self._calm = now + PACE
            return

    async def _give(self, groups: Collection[int]) -> frozenset[int]:
        """Give groups away, except those with running turns; return the ones that are given."""
        give = sharing_state.give_groups
        given = await self._daemon.store.transact(give, self._session, groups)
        if given:
            log.info("groups_given", groups=sorted(given))
            self._adopt_share()
            self._daemon.operations.dispatcher.leave_turns(GroupShare(given))  # those that wait
        return given

    async def _lock_names(self, state: SharingState) -> None:
        """Lock the names that this node wants; none once it stops, whose turns may take long."""
        wanted = frozenset[str]() if self._daemon.stopping.is_set() else self._wanted
        numbers = {number_name(name): name for name in wanted}
        free = [name for number, name in numbers.items() if number not in state.names]
        if free:
            lock = sharing_state.lock_names
            await self._daemon.store.transact(lock, self._session, free)
        held = frozenset(
            name for number, name in numbers.items() if state.names.get(number) == state.pid
        )
        if not self._adopt_names(held) and self._session.names and not wanted:
            # What ran by them has been told before.
            await self._daemon.store.transact(sharing_state.unlock_names, self._session)

    def _adopt_names(self, held: frozenset[str]) -> bool:
        """Note which names this node has, and tell what runs by them; return whether it changed."""
        changed = held != self._held
        self._held = held
        if changed:
            self._announce()
        return changed

    def _split_groups(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return the groups that have agents, and the others, which have chats without one."""
        file = self._daemon.get_agents_file()
        if self._used[0] is not file:
            self._used = file, frozenset(find_group(agent.agent_id) for agent in file.agents)
        used = self._used[1]
        return used, frozenset(ALL) - used

    def _is_home(self, state: SharingState, group: int) -> bool:
        return state.homes[group] in ("", self._daemon.settings.node_url)

    def _may_take(self, state: SharingState, group: int, now: float) -> bool:
        """Return whether to take a free group: its home comes first if it has files there."""
        if self._is_home(state, group) or now - self._free[group] >= AWAY:
            return True
        agents = self._daemon.get_agents_file().agents
        return not any(
            find_group(agent.agent_id) == group and self._keeps_files(agent.agent_id)
            for agent in agents
        )

    def _keeps_files(self, agent_id: str) -> bool:
        """Return whether an agent has a workspace on its node."""
        file, paths = self._daemon.get_agents_file(), self._daemon.settings.paths
        own = (one.list_tool_servers(file, paths) for one in find_installed().own.values())
        return f"workspace@{agent_id}" in chain.from_iterable(own)

    def _adopt_share(self) -> None:
        self._set_share(frozenset(self._session.epochs))

    def _set_share(self, groups: frozenset[int]) -> None:
        if groups != self.share.groups:
            self.share = GroupShare(groups, self._session.owns)
            self._announce()

    def _announce(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()
        self._daemon.operations.guard.wake()  # another node may have resumed agents
        self._wake()

    def _wake(self) -> None:
        """Look for work: other nodes have stored something, or this one has other groups."""
        self._daemon.control.wake()
        self._daemon.approvals.wake()
