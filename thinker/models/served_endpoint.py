"""Where a model beside the agent's own is asked."""

from dataclasses import dataclass, field

from thinker.http.exchange import Network
from thinker.protocol.providers import Provider


@dataclass(frozen=True)
class ServedModelEndpoint:
    """A provider, the address of its API and the key; ``network`` replaces the network.

    With a ``problem`` the model cannot be asked, and that is why.
    """

    provider: Provider
    base_url: str
    key: str = field(repr=False)
    network: Network | None = None
    problem: str = ""
