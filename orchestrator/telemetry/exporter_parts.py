"""What exporters take from the daemon."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from orchestrator.files import OffLoop
from orchestrator.journal.db.store import Store
from orchestrator.telemetry.metric_families import Growing, Readings


@dataclass(frozen=True)
class ExporterParts:
    """``clock`` returns milliseconds since the epoch, and ``jitter`` a factor for waits.

    The counters of ``readings`` began at ``started``. ``spans`` counts what becomes of spans.
    """

    store: Store
    readings: Callable[[], Awaitable[Sequence[Readings]]]
    spans: Growing[float]
    started: int
    clock: Callable[[], int]
    in_thread: OffLoop
    jitter: Callable[[], float]
