"""The daemon as the endpoints see it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.protocol import HealthReport
from orchestrator.http_api.api_channel import ApiChannel
from orchestrator.journal.db.store import Store
from orchestrator.settings import Settings
from orchestrator.turns.dispatcher import Dispatcher


@dataclass(frozen=True)
class ApiContext:
    """What the endpoints need.

    ``configured`` returns when the configuration has changed; ``clock`` returns milliseconds since
    the epoch.
    """

    store: Store
    settings: Settings
    agents: Callable[[], AgentsFile]
    channel: ApiChannel
    dispatcher: Dispatcher
    configured: Callable[[], Awaitable[None]]
    health: Callable[[], Awaitable[HealthReport]]
    clock: Callable[[], int]
