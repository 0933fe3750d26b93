"""Which node works for an agent: the one node there is, or one of several on a shared journal."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import anyio

SUBAGENTS = "subagent/"  # begins the name of a subagent's queue
ACCOUNT = "account/"  # begins the name of what belongs to who receives for a channel


class Node(NamedTuple):
    """A daemon on a shared journal; ``url`` is where other nodes reach it, empty if they cannot."""

    name: str
    url: str


class Share(Protocol):
    """What a node works for at one moment: plain data, for transactions."""

    def __contains__(self, name: str, /) -> bool:
        """Return whether an agent is in it; or, by the name of a queue, what has no agent."""


class Placement(Protocol):
    """Says which node an agent is on; used on the event loop, without waiting.

    ``changed`` is set, and replaced, when an agent or an account comes to this node or leaves it.
    ``closing`` are the agents that this node is about to give away: it opens no turns for them.
    """

    @property
    def closing(self) -> Share | None: ...

    @property
    def changed(self) -> asyncio.Event: ...

    @property
    def share(self) -> Share | None:
        """The agents that this node works for now, the same object until `changed`; None: all."""

    @property
    def nodes(self) -> int:
        """The number of nodes that work for agents, which send by the same accounts."""

    def owns(self, agent_id: str) -> bool:
        """Return whether this node works for the agent now."""

    def find_owner(self, agent_id: str) -> Node | None:
        """Return the other node that works for the agent; None if it is this one, or none yet."""

    def holds(self, account: str) -> bool:
        """Return whether this node receives for a channel, or does a job for all nodes.

        It tries to from the first call on.
        """


def name_turn_owner(agent_id: str, queue: str) -> str:
    """Return what a turn belongs to: its agent, or as a subagent's its queue."""
    return queue if queue.startswith(SUBAGENTS) else agent_id


def name_account_owner(channel: str) -> str:
    """Return what the offset of a channel belongs to: the node that receives for it."""
    return f"{ACCOUNT}{channel}"


class SingleNode:
    """The placement of a daemon that shares its journal with no other: it owns every agent."""

    share = closing = None
    nodes = 1

    def __init__(self) -> None:
        self.changed = asyncio.Event()  # never set

    def owns(self, agent_id: str) -> bool:
        del agent_id
        return True

    def find_owner(self, agent_id: str) -> Node | None:
        del agent_id
        return None

    def holds(self, account: str) -> bool:
        del account
        return True


async def run_on_one_node(
    placement: Placement, name: str, run: Callable[[], Awaitable[None]]
) -> None:
    """Run what one node does for all of them, whenever that is this one, until it ends."""
    ended = False
    while not ended:
        changed = placement.changed
        if not placement.holds(name):
            await changed.wait()
            continue
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_lost, placement, name, tasks.cancel_scope)
            await run()
            ended = True
            tasks.cancel_scope.cancel()


async def _cancel_when_lost(placement: Placement, name: str, scope: anyio.CancelScope) -> None:
    while placement.holds(name):
        await placement.changed.wait()
    scope.cancel()
