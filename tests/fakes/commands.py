"""The chat commands of a daemon that is not there."""

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import OutboundPart
from orchestrator.inbound.commands import Commands, DaemonSnapshot
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.spending.spending_guard import SpendingGuard

UTC = {"TZ": "UTC"}


def command_desk(
    store: Store,
    agents: Callable[[], AgentsFile],
    after: Callable[[Sequence[str]], None] = lambda _: None,
    now: Callable[[], int] = lambda: 0,
) -> Commands:
    """Commands on a store; every agent is running, as is the channel, and the server is away."""

    def glance() -> DaemonSnapshot:
        running = {agent.agent_id: "running" for agent in agents().agents}
        return DaemonSnapshot("1.2.3", 0, running, {"telegram": "ok"}, {"files": "failed"})

    return Commands(SpendingGuard(store, agents, UTC, now), glance, after)


async def no_notice(channel: str, part: OutboundPart) -> bool:
    """Be the `tell` of an intake whose disk has space."""
    raise AssertionError((channel, part))


class NoQueues:
    """Messages are stored, and no one is there to have them answered."""

    def hold_chats(self, chats: Collection[str]) -> nullcontext[Callable[[Database], None]]:
        """T1 alone."""
        del chats
        return nullcontext(lambda _: None)
