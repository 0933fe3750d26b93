"""Find the recorded results of a trial's calls, by tool, arguments and how often they were made."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import orjson

from orchestrator.extensions.workbench.recorded_turns import MadeCall
from thinker.protocol.messages import JsonObject

SHOWN = 2_000  # characters of a result in a report


class CallKey(NamedTuple):
    """What tells a call from the others of its turn; ``nth`` counts equal ones from 1."""

    name: str
    digest: str
    nth: int

    def format_key(self) -> str:
        """Return the key as people and programs pass it on."""
        return f"{self.name}/{self.digest[:16]}/{self.nth}"


class FoundCall(NamedTuple):
    """A recorded call that answers one of a trial.

    It is ``stale`` if the world may have been another one by then: the calls with effects before it
    were not the same.
    """

    call: MadeCall
    stale: bool


class CallMatcher:
    """Matches the calls of one run with those of its record, in the order in which they come."""

    def __init__(self, recorded: Iterable[MadeCall]) -> None:
        self._recorded: dict[CallKey, tuple[MadeCall, tuple[CallKey, ...]]] = {}
        self._effects: list[CallKey] = []
        self._made: Counter[tuple[str, str]] = Counter()
        seen, effects = Counter[tuple[str, str]](), list[CallKey]()
        for call in recorded:
            seen[call.name, call.digest] += 1
            key = CallKey(call.name, call.digest, seen[call.name, call.digest])
            self._recorded[key] = call, tuple(effects)
            if call.effect:
                effects.append(key)

    def record_call(self, name: str, digest: str, *, effect: bool) -> CallKey:
        """Note that the run makes a call; return its key."""
        self._made[name, digest] += 1
        key = CallKey(name, digest, self._made[name, digest])
        if effect:
            self._effects.append(key)
        return key

    def find_call(self, key: CallKey) -> FoundCall | None:
        """Return the recorded call with a result that answers a noted one; None if it has none."""
        call, before = self._recorded.get(key, (None, ()))
        if call is None or call.result is None:
            return None
        own = [effect for effect in self._effects if effect != key]
        return FoundCall(call, stale=own != list(before))


def shorten_result(text: str) -> str:
    """Return the beginning of a call's result, as reports show it: a trial may have thousands."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def compute_call_digest(name: str, arguments: JsonObject) -> str:
    """Return the digest under which the journal stores a call, see `steps.plan`."""
    args = orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()
    return hashlib.sha256(f"{name}\0{args}".encode()).hexdigest()
