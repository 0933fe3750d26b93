"""Answers to what many windows ask at the same time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import anyio
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.loop_owned import LoopOwned
from thinker.protocol.peer import Params, RequestHandler

FRESH = 0.2  # seconds for which an answer is shown again: a fifth of what a person notices
SHARED = frozenset({protocol.STATUS, protocol.HEALTH, protocol.EXAMINE})


@dataclass
class _Answer:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    until: float = 0.0
    answer: Params = None


class SharedLooks(LoopOwned):
    """Asks for the state of the daemon once for all who look at it.

    ``clock`` returns seconds of a clock that cannot be set.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[str, _Answer] = {}

    def forget(self) -> None:
        """Ask anew: something was done, and who did it wants to see it."""
        self._answers = {}

    def handlers(self, methods: Mapping[str, RequestHandler]) -> dict[str, RequestHandler]:
        """Return the methods, those in `SHARED` with answers that are shared."""
        shared = {name: partial(self._ask, name, methods[name]) for name in SHARED & methods.keys()}
        return {**methods, **shared}

    async def _ask(self, name: str, handler: RequestHandler, params: JsonValue) -> Params:
        known = self._answers.setdefault(name, _Answer())
        async with known.lock:
            if self._clock() >= known.until:
                known.answer = await handler(params)
                known.until = self._clock() + FRESH
            return known.answer
