"""Whose figures count: the broker's."""

import asyncio
from contextlib import suppress

import anyio
from fakes.time_limit import time_limit

from orchestrator.broker.broker_wire import CallEnded
from orchestrator.processes.model_broker import CallLedger
from thinker.protocol.background import EmbeddingResult
from thinker.protocol.messages import AssistantMessage, Usage
from thinker.protocol.methods import StepCommit
from thinker.protocol.peer import PeerClosedError

TRUE, LITTLE = Usage(prompt=100, completion=10), Usage(prompt=1)


class Booked:
    """A ledger, and what it books."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, bool]] = []
        self.now = 0.0
        self.ledger = CallLedger(self._book, clock=lambda: self.now)

    def _book(self, work: str, call: CallEnded, *, died: bool) -> None:
        self.calls.append((work, call.call_id, died))


def ended(name: str, usage: Usage = TRUE, **fields: object) -> CallEnded:
    """The broker's report."""
    values = {"channel": 1, "call_id": name, "model": "openai/true", "usage": usage, **fields}
    return CallEnded.model_validate(values)


def step(*names: str, usage: Usage = LITTLE) -> StepCommit:
    """What a worker says."""
    said = AssistantMessage(content="x")
    return StepCommit(turn_id="t", response=said, usage=usage, model="demo/free", call_ids=names)


async def test_step_counts_as_the_broker_says() -> None:
    """Whatever the worker says about tokens and model."""
    booked = Booked()
    with booked.ledger.record_work("t"):
        booked.ledger.record_call(ended("1"))
        counted = await booked.ledger.replace_counts(step("1"))
    assert (counted.usage, counted.model) == (TRUE, "openai/true")
    assert booked.calls == []


async def test_call_that_is_not_named_is_booked_when_its_work_ends() -> None:
    """A repeated call, or one that the worker keeps to itself."""
    booked = Booked()
    with booked.ledger.record_work("t"):
        booked.ledger.record_call(ended("1"))
        booked.ledger.record_call(ended("2"))
        await booked.ledger.replace_counts(step("2"))
        assert booked.calls == []
    assert booked.calls == [("t", "1", False)]


async def test_call_waits_for_all_works_that_may_name_it() -> None:
    """A worker runs several turns; the last of them is charged."""
    booked = Booked()
    with booked.ledger.record_work("other"):
        with booked.ledger.record_work("t"):
            booked.ledger.record_call(ended("1"))
        with booked.ledger.record_work("later"):
            pass
        assert booked.calls == []
    assert booked.calls == [("other", "1", False)]


async def test_call_after_all_work_is_booked_at_once() -> None:
    """Its turn was canceled, or has an answer already."""
    booked = Booked()
    booked.ledger.record_call(ended("1"))
    assert booked.calls == [("", "1", False)]


async def test_call_of_a_worker_that_died_is_booked_as_such() -> None:
    """The report may come before or after the end of the turn; its reservation is replaced."""
    booked = Booked()
    for name, late in (("1", False), ("2", True)):
        with suppress(PeerClosedError), booked.ledger.record_work(f"t{name}"):
            if not late:
                booked.ledger.record_call(ended(name))
            raise PeerClosedError
        if late:
            booked.ledger.record_call(ended(name))
    booked.ledger.record_call(ended("3"))
    assert booked.calls == [("t1", "1", True), ("t2", "2", True), ("", "3", False)]


async def test_step_waits_for_a_report_that_is_under_way() -> None:
    """The wires of worker and broker are not in step."""
    booked = Booked()
    with time_limit(), booked.ledger.record_work("t"):
        async with anyio.create_task_group() as tasks:
            found: list[StepCommit] = []

            async def commit() -> None:
                found.append(await booked.ledger.replace_counts(step("1")))

            tasks.start_soon(commit)
            await anyio.wait_all_tasks_blocked()
            booked.ledger.record_call(ended("1"))
    assert found[0].usage == TRUE
    assert booked.calls == []


async def test_name_that_the_broker_does_not_know_changes_nothing() -> None:
    """The worker is believed for want of anything else."""
    booked = Booked()
    with booked.ledger.record_work("t"):
        assert await booked.ledger.replace_counts(step("9")) == step("9")


async def test_estimate_does_not_replace_a_better_one() -> None:
    """The worker has the text; only if it says far too little the broker's estimate counts."""
    booked = Booked()
    guess = Usage(prompt=110, completion=20)
    with booked.ledger.record_work("t"):
        booked.ledger.record_call(ended("1", guess, estimated=True))
        assert (await booked.ledger.replace_counts(step("1", usage=TRUE))).usage == TRUE
        booked.ledger.record_call(ended("2", guess, estimated=True))
        assert (await booked.ledger.replace_counts(step("2"))).usage == guess


async def test_vectors_keep_the_name_of_their_model() -> None:
    """By which they are compared."""
    booked = Booked()
    with booked.ledger.record_work("embed"):
        booked.ledger.record_call(ended("1"))
        answer = EmbeddingResult(model="openai/e", usage=Usage(), call_ids=("1",))
        counted = await booked.ledger.replace_counts(answer)
    assert (counted.model, counted.usage) == ("openai/e", TRUE)


async def test_call_that_is_cut_off_with_its_work_belongs_to_it() -> None:
    """However late it is reported; what others call meanwhile stays theirs."""
    booked = Booked()
    with booked.ledger.record_work("other"):
        booked.now = 1.0
        with suppress(asyncio.CancelledError), booked.ledger.record_work("dropped"):
            booked.now = 5.0
            raise asyncio.CancelledError
        booked.now = 6.0
        with booked.ledger.record_work("next"):
            booked.now = 7.0
            booked.ledger.record_call(ended("whole", seconds=4.0))
            booked.ledger.record_call(ended("of the next", seconds=0.5, cut=True))
            booked.ledger.record_call(ended("of the dropped", seconds=4.0, cut=True))
            assert booked.calls == [("dropped", "of the dropped", False)]
            booked.ledger.record_call(ended("again", seconds=4.0, cut=True))
    assert [call for _, call, _ in booked.calls] == [
        "of the dropped",
        "whole",
        "of the next",
        "again",
    ]
