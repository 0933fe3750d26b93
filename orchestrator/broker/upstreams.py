"""Connections to providers, shared by all workers that may post to the same address."""

from collections.abc import Iterable
from typing import TypeAlias

from orchestrator.broker.broker_wire import Grant
from thinker.http.client import JsonPoster, open_poster

CONNECT = 10.0  # seconds; a worker may give up earlier
READ = 600.0  # seconds; as long as a worker waits at most
PosterKey: TypeAlias = tuple[object, ...]


class Upstreams:
    """One poster for each address and key."""

    def __init__(self) -> None:
        self._posters: dict[PosterKey, JsonPoster] = {}

    def poster(self, grant: Grant) -> JsonPoster:
        key = _key(grant)
        found = self._posters.get(key)
        if found is None:
            found = open_poster(grant.url, grant.headers, connect=CONNECT, read=READ)
            self._posters[key] = found
        return found

    async def keep(self, grants: Iterable[Grant]) -> None:
        """Close the idle connections of all other grants."""
        for key in self._posters.keys() - set(map(_key, grants)):
            await self._posters.pop(key).aclose()


def _key(grant: Grant) -> PosterKey:
    return grant.url, *grant.headers.items()
