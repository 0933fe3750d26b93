"""What the endpoints need of the daemon."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from orchestrator.control.protocol import HealthReport
from orchestrator.http_api.api_channel import ApiChannel
from orchestrator.turns.dispatcher import Dispatcher
from orchestrator.turns.turn_inputs import TurnServices


@dataclass(frozen=True)
class ApiContext:
    """The daemon as the endpoints see it; ``configured`` returns when agents.json has changed."""

    services: TurnServices
    channel: ApiChannel
    dispatcher: Dispatcher
    configured: Callable[[], Awaitable[None]]
    health: Callable[[], Awaitable[HealthReport]]
