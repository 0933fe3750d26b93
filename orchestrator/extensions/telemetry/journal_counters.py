"""Counters since the daemon's start, updated from the journal on request.

No message waits for them, and counted rows are not read again.
"""

from collections.abc import Callable
from itertools import pairwise

import anyio

from orchestrator.extensions.telemetry import metric_catalog as catalog
from orchestrator.extensions.telemetry.counted_events import CallTally, Durations, StepTally
from orchestrator.extensions.telemetry.journal_delta import JournalDelta, JournalPlace, load_delta
from orchestrator.extensions.telemetry.metric_families import CounterFamily, Histogram, Readings
from orchestrator.extensions.telemetry.queue_lengths import QueueLengths
from orchestrator.files import OffLoop
from orchestrator.journal_address import JournalAddress
from thinker.protocol.methods import StopReason

TOKENS = ("prompt", "cached", "completion")
FAILED = (StopReason.MODEL_ERROR, StopReason.OVERFLOW)  # with an unknown model
MAX_SECONDS = 2.0  # Prometheus waits for 10 by default


class JournalCounters:
    """Counts what the journal at ``address`` records after ``place``.

    ``clock`` returns milliseconds since the epoch.
    """

    def __init__(
        self,
        address: JournalAddress,
        place: JournalPlace,
        clock: Callable[[], int],
        in_thread: OffLoop,
    ) -> None:
        self._address, self._place, self._clock, self._in_thread = address, place, clock, in_thread
        self._lock = anyio.Lock()
        self._messages = CounterFamily[float](catalog.MESSAGES)
        self._turns = CounterFamily[float](catalog.TURNS)
        self._turn_seconds = CounterFamily[Histogram](catalog.TURN_SECONDS)
        self._call_seconds = CounterFamily[Histogram](catalog.CALL_SECONDS)
        self._first_seconds = CounterFamily[Histogram](catalog.FIRST_SECONDS)
        self._retries = CounterFamily[float](catalog.RETRIES)
        self._calls = CounterFamily[float](catalog.CALLS)
        self._tokens = CounterFamily[float](catalog.TOKENS)
        self._cost = CounterFamily[float](catalog.COST)
        self._tools = CounterFamily[float](catalog.TOOLS)

    async def collect_readings(self) -> list[Readings]:
        """Count new rows, and return all families.

        After a long pause, one call counts for at most `MAX_SECONDS`; the next call continues.

        Raises:
            JournalError: the journal cannot be read.
        """
        async with self._lock:
            until, more = anyio.current_time() + MAX_SECONDS, True
            while more and anyio.current_time() < until:
                found = await self._in_thread(load_delta, self._address, self._place, self._clock())
                self._place, more = found.place, found.more
                self._count_look(found)
        counted = (
            self._messages,
            self._turns,
            self._turn_seconds,
            self._call_seconds,
            self._first_seconds,
            self._retries,
            self._calls,
            self._tokens,
            self._cost,
            self._tools,
        )
        return [*(family.build_readings() for family in counted), *_build_gauges(found.lengths)]

    def _count_look(self, found: JournalDelta) -> None:
        for *labels, messages in found.messages:
            self._messages.add(labels, messages)
        for agent, reason, durations in found.turns:
            self._turns.add((agent, reason), durations.times)
            self._turn_seconds.add((agent,), _build_histogram(durations))
            if reason in FAILED:
                self._calls.add((agent, "", "turn", "failed"), durations.times)
        for step in found.steps:
            if step.kind == "tool":
                self._tools.add((step.name, step.outcome), step.steps)
            else:
                self._count_model_step(step)
        for call in found.calls.tallies:
            self._count_tool_call(call)

    def _count_model_step(self, step: StepTally) -> None:
        labels = step.agent_id, step.name
        if step.whole.times:
            self._call_seconds.add(labels, _build_histogram(step.whole))
        if step.first.times:
            self._first_seconds.add(labels, _build_histogram(step.first))
        if step.retries:
            self._retries.add(labels, step.retries)

    def _count_tool_call(self, call: CallTally) -> None:
        labels = call.agent_id, call.model, call.purpose
        self._calls.add((*labels, call.outcome), call.calls)
        for kind in TOKENS:
            if tokens := getattr(call, kind):
                self._tokens.add((*labels, kind), tokens)
        if call.usd is not None:
            self._cost.add(labels, call.usd)


def _build_histogram(durations: Durations) -> Histogram:
    bounds = (0, *durations.within, durations.times)
    buckets = tuple(more - less for less, more in pairwise(bounds))
    return Histogram(buckets, durations.total / 1000)


def _build_gauges(lengths: QueueLengths) -> list[Readings]:
    inbox = ("new", lengths.new), ("claimed", lengths.claimed), ("dead", lengths.dead)
    turns = ("running", lengths.running), ("waiting", lengths.waiting)
    return [
        Readings(catalog.INBOX, {(state,): number for state, number in inbox}),
        Readings(catalog.OUTBOX, {(): lengths.outgoing}),
        Readings(catalog.APPROVALS, {(): lengths.approvals}),
        Readings(catalog.OPEN_TURNS, {(state,): number for state, number in turns}),
    ]
