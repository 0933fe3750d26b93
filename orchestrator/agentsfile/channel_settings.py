"""The settings that every channel has; extensions subclass them."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from orchestrator.agentsfile.field_types import AgentId, ConfigModel


class RoutedEntry(ConfigModel):
    """An entry that receives messages under its own name and names the agent that answers."""

    agent_id: AgentId
    """The agent that the message is for."""


class ChannelSettings(ConfigModel):
    """Whether a channel runs, and the prompt variables of its chats."""

    routing_field: ClassVar[str] = ""
    """The field whose entries are the chats and name their agents, if no binding does."""
    takes_notices: ClassVar[bool] = True
    """Whether the daemon can write to the channel's chats unasked."""

    enabled: bool = True
    """Whether the channel runs."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, in every chat of this channel."""

    @property
    def opens_endpoints(self) -> bool:
        """Whether senders without the token of the HTTP API reach its port through this channel."""
        return False

    def list_routed_entries(self) -> Mapping[str, RoutedEntry]:
        """Return the entries of `routing_field`, keyed by chat id."""
        found: Mapping[str, RoutedEntry]
        found = getattr(self, self.routing_field) if self.routing_field else {}
        return found


class LocalChannel(ChannelSettings):
    """A channel on this machine, which needs no admission."""
