"""Group calls of one tool whose arguments have the same names, and find in which they differ.

Pure.

Where: are alike calls told together?
"""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from thinker.protocol.messages import JsonObject


class AlikeCalls(NamedTuple):
    """The places of alike calls in their list, and the names of arguments in which they differ."""

    places: tuple[int, ...]
    differing: tuple[str, ...]


def group_alike_calls(calls: Sequence[tuple[str, JsonObject]]) -> list[AlikeCalls]:
    """Group calls by their tools and the names of their arguments, in the order of the first."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, (tool, arguments) in enumerate(calls):
        groups.setdefault((tool, *sorted(arguments)), []).append(place)
    return [
        AlikeCalls(tuple(places), _find_differing([calls[place][1] for place in places]))
        for places in groups.values()
    ]


def _find_differing(alike: Sequence[JsonObject]) -> tuple[str, ...]:
    def count_values(name: str) -> int:
        return len({orjson.dumps(one[name], option=orjson.OPT_SORT_KEYS) for one in alike})

    return tuple(name for name in alike[0] if count_values(name) > 1)
