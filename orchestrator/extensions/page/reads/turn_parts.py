"""Search turns part by part, so that a long search shows what it has found so far."""

import time
from collections.abc import Callable, Mapping, Sequence

from orchestrator.errors import QueryTimeoutError
from orchestrator.extensions.page.reads.turn_filters import Condition
from orchestrator.extensions.page.screen_request import JournalView
from orchestrator.journal.inspect.turn_search import (
    MAX_SEARCHED,
    PAGE,
    FoundTurn,
    TurnPage,
    search_turns,
)

PART = 1000  # turns of one query
MAX_SECONDS = 0.25  # of a processor, after which no further part is searched


async def search_turn_parts(
    journal: JournalView,
    wanted: Mapping[str, str],
    before: str | None = None,
    spent: Callable[[], float] = time.thread_time,
    *,
    also: Sequence[Condition] = (),
    limit: int = 0,
) -> TurnPage:
    """Return the newest matching turns older than ``before``, at most ``limit`` or else `PAGE`.

    After `MAX_SEARCHED` turns or `MAX_SECONDS`, as ``spent`` counts them, older ones are left for
    the next page.

    Raises:
        QueryTimeoutError: not even the first part could be searched.
    """
    limit = limit or PAGE
    ends, found, looked_at = spent() + MAX_SECONDS, list[FoundTurn](), 0
    while True:
        try:
            part = await journal(search_turns, wanted, before, PART, also)
        except QueryTimeoutError:
            if not looked_at:
                raise
            return TurnPage(found, before, looked_at)
        found += part.turns
        looked_at, before = looked_at + part.looked_at, part.before
        if len(found) > limit:
            return TurnPage(found[:limit], found[limit - 1].id, looked_at)
        if len(found) == limit or before is None or looked_at >= MAX_SEARCHED or spent() > ends:
            return TurnPage(found, before, looked_at)
