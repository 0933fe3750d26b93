"""A placement that a test decides."""

import asyncio

from orchestrator.placement import Node


class PlacedAgents:
    """Owns the agents in ``own`` and holds ``accounts``; ``others`` has the nodes of the rest."""

    def __init__(self, *own: str, others: dict[str, Node] | None = None) -> None:
        self.own, self.others = {*own}, others or {}
        self.accounts: set[str] = set()
        self.nodes = 2
        self.closing: frozenset[str] | None = None
        self._share = frozenset(own)
        self.changed = asyncio.Event()

    @property
    def share(self) -> frozenset[str]:
        """Return what the test has placed here; a set that is equal is the same one."""
        if self._share != self.own:
            self._share = frozenset(self.own)
        return self._share

    def owns(self, agent_id: str) -> bool:
        """Return whether the test has placed the agent here."""
        return agent_id in self.own

    def find_owner(self, agent_id: str) -> Node | None:
        """Return where the test has placed the agent."""
        return self.others.get(agent_id)

    def holds(self, account: str) -> bool:
        """Return whether the test has given the account to this node."""
        return account in self.accounts

    def change(self, *, own: set[str] | None = None, accounts: set[str] | None = None) -> None:
        """Place agents or accounts anew."""
        self.own = self.own if own is None else own
        self.accounts = self.accounts if accounts is None else accounts
        self.changed.set()
        self.changed = asyncio.Event()
