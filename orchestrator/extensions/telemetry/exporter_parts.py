"""The exporters' dependencies on the daemon."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from orchestrator.extensions.telemetry.metric_families import CounterFamily, Readings
from orchestrator.files import OffLoop
from orchestrator.journal.db.store import Store


@dataclass(frozen=True)
class ExporterParts:
    """The daemon's parts for exporters; ``jitter`` returns a factor for waits.

    ``clock`` returns milliseconds since the epoch. The counters of ``readings`` began at
    ``started``. ``spans`` counts spans by outcome.
    """

    store: Store
    readings: Callable[[], Awaitable[Sequence[Readings]]]
    spans: CounterFamily[float]
    started: int
    clock: Callable[[], int]
    in_thread: OffLoop
    jitter: Callable[[], float]
