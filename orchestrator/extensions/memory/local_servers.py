"""Keep background jobs out of the way of people whose agents share a local model server.

Such a server answers one request at a time, and each reads its prompt anew: a summary would delay
the next answer by minutes on a small machine.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio

from orchestrator.processes.launch import LaunchSpec
from orchestrator.processes.supervisor import Supervisor
from thinker.protocol.background import WORK_CANCEL
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.model_endpoints import list_used_endpoints

QUIET_SECONDS = 2.0  # since the last use of a server: a person may be typing the next message
LOOK_SECONDS = 0.25  # between two looks whether a turn waits for the server


class UsedServers(NamedTuple):
    """Hosts and ports of the local servers that an agent may call: for answers, and for any use."""

    chat: frozenset[str] = frozenset()
    all: frozenset[str] = frozenset()


def list_local_servers(spec: LaunchSpec) -> UsedServers:
    """Return the local servers that an agent may call."""
    used = [end for end in list_used_endpoints(spec.settings) if is_local_address(end.url)]
    chat = (end.url for end in used if end.use == "chat")
    return UsedServers(
        frozenset(urlsplit(url).netloc for url in chat),
        frozenset(urlsplit(end.url).netloc for end in used),
    )


@dataclass(eq=False)
class LocalServers:
    """Tells whether the local servers of an agent are idle, by the use of all agents' workers.

    ``jobs`` counts the jobs of each agent that have begun. A job needs the servers of the agent's
    answers or, if it ``embeds``, all of them.
    """

    supervisor: Supervisor
    quiet: float = QUIET_SECONDS
    jobs: Counter[str] = field(default_factory=Counter, init=False)
    _known: dict[str, tuple[LaunchSpec, UsedServers]] = field(default_factory=dict, init=False)

    def is_idle(self, agent_id: str, *, embeds: bool = False) -> bool:
        """Return whether a job of the agent may begin; always, if none of its servers is local."""
        needed, now = self._list_needed(agent_id, embeds=embeds), self.supervisor.clock()
        return not any(
            (self.jobs[name] or slot.callers or now - slot.idle_since < self.quiet)
            and needed & self._find_servers(name).all
            for name, slot in self.supervisor.slots.items()
        )

    @asynccontextmanager
    async def give_way(self, agent_id: str) -> AsyncIterator[anyio.Event]:
        """Cancel the model call in the block as soon as a turn needs the server.

        The event that is returned is set then.
        """
        gave_way = anyio.Event()
        async with anyio.create_task_group() as tasks:
            if self._list_needed(agent_id):
                tasks.start_soon(self._watch_others, agent_id, gave_way)
            yield gave_way
            tasks.cancel_scope.cancel()

    async def _watch_others(self, agent_id: str, gave_way: anyio.Event) -> None:
        while True:
            if gave_way.is_set() or self.is_needed(agent_id):
                gave_way.set()
                slot = self.supervisor.slots.get(agent_id)
                if slot is not None and slot.worker is not None:
                    slot.worker.peer.notify(WORK_CANCEL)
            # Also afterwards: the request may not have reached its worker yet.
            await anyio.sleep(LOOK_SECONDS)

    def is_needed(self, agent_id: str, *, embeds: bool = False) -> bool:
        """Return whether a turn waits for a local server that a job of the agent needs."""
        needed = self._list_needed(agent_id, embeds=embeds)
        return any(  # whether an agent is used is seen faster than what it uses
            slot.callers > self.jobs[name] and needed & self._find_servers(name).all
            for name, slot in self.supervisor.slots.items()
        )

    def _list_needed(self, agent_id: str, *, embeds: bool = False) -> frozenset[str]:
        """Return the local servers that a job of an agent needs."""
        own = self._find_servers(agent_id)
        return own.all if embeds else own.chat

    def _find_servers(self, agent_id: str) -> UsedServers:
        slot = self.supervisor.slots.get(agent_id)
        if slot is None:
            return UsedServers()
        known = self._known.get(agent_id)
        if known is None or known[0] is not slot.spec:
            known = self._known[agent_id] = slot.spec, list_local_servers(slot.spec)
        return known[1]
