"""Choose the key for a model's address, and the name under which a new one is stored."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from orchestrator.extensions.setup.model_account import ModelAccount, find_agent_account
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS, Provider, list_key_variables

NO_LETTER = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True)
class KeyChoices:
    """The keys that are set, from one agent's view.

    ``agents`` are all agents of the file, ``known_providers`` the providers that they can name.
    """

    agent_id: str
    agents: Sequence[JsonObject]
    environ: Mapping[str, str] = field(repr=False)
    known_providers: Mapping[str, Provider] = field(default_factory=lambda: PROVIDERS)

    def reuse_key_variable(self, chosen: ModelAccount) -> ModelAccount:
        """Return the account with the variable that agents use at its address, if any."""
        if not chosen.base_url or chosen.key_in_file:
            return chosen
        own_first = sorted(self._list_accounts(), key=lambda found: found[0] != self.agent_id)
        for _, there in own_first:
            if (
                there.key_var
                and there.provider == chosen.provider
                and _is_same_address(there, chosen)
            ):
                return replace(chosen, key_var=there.key_var)
        return chosen

    def find_allowed_key(self, chosen: ModelAccount) -> str:
        """Return the key for an account's address; empty if none is set."""
        name = chosen.key_var or ""
        usual = not chosen.base_url or chosen.has_usual_address
        used = any(
            there.key_var == name and _is_same_address(there, chosen)
            for _, there in self._list_accounts()
        )
        return self.environ.get(name, "") if usual or used else ""

    def assign_key_variable(self, chosen: ModelAccount, key: str) -> ModelAccount:
        """Return the account with a variable for its key that no other agent uses.

        The variable is empty if there is no key and the usual one is for another address.
        """
        there = self.environ.get(chosen.key_var or "", "")
        if not key:
            return (
                replace(chosen, key_var="")
                if there and not self.find_allowed_key(chosen)
                else chosen
            )
        others = (
            there or not _is_same_address(found, chosen)
            for agent_id, found in self._list_accounts()
            if agent_id != self.agent_id and found.key_var == chosen.key_var
        )
        if key == there or not any(others):
            return chosen
        return replace(chosen, key_var=self._make_key_name(key))

    def _make_key_name(self, key: str) -> str:
        start = NO_LETTER.sub("_", self.agent_id.upper()).strip("_")
        start = start if start[:1].isalpha() else f"AGENT_{start}".rstrip("_")
        names = (f"{start}{number}_API_KEY" for number in ("", *map("_{}".format, range(2, 1000))))
        return next(
            name
            for name in names
            if name not in list_key_variables(self.known_providers)
            and self.environ.get(name, key) == key
        )

    def _list_accounts(self) -> Iterator[tuple[str, ModelAccount]]:
        for agent in self.agents:
            found = find_agent_account(agent, self.environ, self.known_providers)
            if found is not None:
                yield str(agent.get("agentId")), found


def _is_same_address(one: ModelAccount, other: ModelAccount) -> bool:
    """Return whether two accounts have the same address."""
    return urlsplit(one.url)[:2] == urlsplit(other.url)[:2]
