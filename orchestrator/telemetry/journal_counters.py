"""Counters since the daemon started, brought up to date from the journal when they are asked for.

No message waits for them, and what has been counted is not read again.
"""

from collections.abc import Callable
from itertools import pairwise

import anyio

from orchestrator.files import OffLoop
from orchestrator.journal.inspect.counted_events import CallTally, Durations, StepTally
from orchestrator.journal.inspect.queue_lengths import QueueLengths
from orchestrator.journal_address import JournalAddress
from orchestrator.telemetry import metric_catalog as catalog
from orchestrator.telemetry.journal_look import JournalPlace, Look, look
from orchestrator.telemetry.metric_families import Growing, Histogram, Readings
from thinker.protocol.methods import StopReason

TOKENS = ("prompt", "cached", "completion")
FAILED = (StopReason.MODEL_ERROR, StopReason.OVERFLOW)  # without a model that is known of
LONGEST = 2.0  # seconds; Prometheus waits for 10 by default


class JournalCounters:
    """Counts what the journal at ``address`` records behind ``place``.

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
        self._messages = Growing[float](catalog.MESSAGES)
        self._turns = Growing[float](catalog.TURNS)
        self._turn_seconds = Growing[Histogram](catalog.TURN_SECONDS)
        self._call_seconds = Growing[Histogram](catalog.CALL_SECONDS)
        self._first_seconds = Growing[Histogram](catalog.FIRST_SECONDS)
        self._retries = Growing[float](catalog.RETRIES)
        self._calls = Growing[float](catalog.CALLS)
        self._tokens = Growing[float](catalog.TOKENS)
        self._cost = Growing[float](catalog.COST)
        self._tools = Growing[float](catalog.TOOLS)

    async def readings(self) -> list[Readings]:
        """Count what is new, and return all families.

        After a long time without a look this counts for `LONGEST` only; the next look goes on.

        Raises:
            JournalError: the journal cannot be read.
        """
        async with self._lock:
            until, more = anyio.current_time() + LONGEST, True
            while more and anyio.current_time() < until:
                found = await self._in_thread(look, self._address, self._place, self._clock())
                self._place, more = found.place, found.more
                self._count(found)
        counted = (
            *(self._messages, self._turns, self._turn_seconds, self._call_seconds),
            *(self._first_seconds, self._retries, self._calls, self._tokens, self._cost),
            self._tools,
        )
        return [*(family.readings() for family in counted), *_gauges(found.lengths)]

    def _count(self, found: Look) -> None:
        for *labels, messages in found.messages:
            self._messages.add(labels, messages)
        for agent, reason, durations in found.turns:
            self._turns.add((agent, reason), durations.times)
            self._turn_seconds.add((agent,), _histogram(durations))
            if reason in FAILED:
                self._calls.add((agent, "", "turn", "failed"), durations.times)
        for step in found.steps:
            if step.kind == "tool":
                self._tools.add((step.name, step.outcome), step.steps)
            else:
                self._count_model(step)
        for call in found.calls.tallies:
            self._count_call(call)

    def _count_model(self, step: StepTally) -> None:
        labels = step.agent_id, step.name
        if step.whole.times:
            self._call_seconds.add(labels, _histogram(step.whole))
        if step.first.times:
            self._first_seconds.add(labels, _histogram(step.first))
        if step.retries:
            self._retries.add(labels, step.retries)

    def _count_call(self, call: CallTally) -> None:
        labels = call.agent_id, call.model, call.purpose
        self._calls.add((*labels, call.outcome), call.calls)
        for kind in TOKENS:
            if tokens := getattr(call, kind):
                self._tokens.add((*labels, kind), tokens)
        if call.usd is not None:
            self._cost.add(labels, call.usd)


def _histogram(durations: Durations) -> Histogram:
    bounds = (0, *durations.within, durations.times)
    buckets = tuple(more - less for less, more in pairwise(bounds))
    return Histogram(buckets, durations.total / 1000)


def _gauges(lengths: QueueLengths) -> list[Readings]:
    inbox = ("new", lengths.new), ("claimed", lengths.claimed), ("dead", lengths.dead)
    turns = ("running", lengths.running), ("waiting", lengths.waiting)
    return [
        Readings(catalog.INBOX, {(state,): number for state, number in inbox}),
        Readings(catalog.OUTBOX, {(): lengths.outgoing}),
        Readings(catalog.APPROVALS, {(): lengths.approvals}),
        Readings(catalog.OPEN_TURNS, {(state,): number for state, number in turns}),
    ]
