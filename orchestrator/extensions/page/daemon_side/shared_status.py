"""Share answers among windows that call at the same time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import anyio
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.loop_bound import LoopBound
from thinker.protocol.peer import Params, RequestHandler

FRESH_SECONDS = 0.2  # for which an answer is reused: a fifth of what a person notices
SHARED = frozenset({protocol.STATUS, protocol.HEALTH, protocol.EXAMINE})


@dataclass
class _Answer:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    until: float = 0.0
    answer: Params = None


class SharedStatus(LoopBound):
    """Fetches the daemon's state once for all viewers.

    ``clock`` returns seconds of a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[str, _Answer] = {}

    def forget_answers(self) -> None:
        """Forget all answers: after an action, its author wants to see the effect."""
        self._answers = {}

    def share_handlers(self, methods: Mapping[str, RequestHandler]) -> dict[str, RequestHandler]:
        """Return the methods; those in `SHARED` share their answers."""
        shared = {
            name: partial(self._call_once, name, methods[name]) for name in SHARED & methods.keys()
        }
        return {**methods, **shared}

    async def _call_once(self, name: str, handler: RequestHandler, params: JsonValue) -> Params:
        if params is not None:  # it asks for less, and others for something else
            return await handler(params)
        known = self._answers.setdefault(name, _Answer())
        async with known.lock:
            if self._clock() >= known.until:
                known.answer = await handler(params)
                known.until = self._clock() + FRESH_SECONDS
            return known.answer
