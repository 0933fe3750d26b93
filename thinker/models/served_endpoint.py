"""The endpoint of an additional model: provider, address and key."""

from dataclasses import dataclass, field

from thinker.http.exchange import Network
from thinker.protocol.providers import Provider


@dataclass(frozen=True)
class ServedModelEndpoint:
    """A provider, the address of its API and the key; ``network`` replaces the network.

    ``problem`` says why the model cannot be called; empty if it can.
    """

    provider: Provider
    base_url: str
    key: str = field(repr=False)
    network: Network | None = None
    problem: str = ""
