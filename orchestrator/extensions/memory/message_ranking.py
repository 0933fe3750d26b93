"""The order of messages that a search finds: one ranking for every journal.

BM25 of the words, counted within the memory that is searched; with a part of the scores of the two
messages beside it, and of its sitting. `message_index.make_place` says what a place holds.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SATURATION = 1.2  # of BM25, the usual constant: how little more the second occurrence adds
LENGTH_SHARE = 0.75  # of BM25, the usual constant: how much a long message counts less
BESIDE, SITTING = 0.3, 0.3  # weights of the scores beside a message and of its sitting
MEANING = 0.7  # weight of the scores of a second source; that of the words is 1
LENGTHS = [2 ** (length / 2) * 0.75 for length in range(32)]  # characters, by class


class Postings(NamedTuple):
    """Places of messages with a term, and how many have it.

    ``weight`` is less than 1 if the term stands for another one.
    """

    places: Sequence[int]
    rows: int
    weight: float = 1.0


def rank_messages(
    postings: Sequence[Postings], total: int, near: Mapping[int, float]
) -> list[tuple[int, float]]:
    """Return places with their scores, best first.

    ``total`` is the number of messages in the memory. ``near`` are scores from 0 to 1 of a second
    source, by place, which are added.
    """
    words, sittings, classes = score_words(postings, total)
    best = max(words.values(), default=0.0) or 1.0
    most = max(sittings.values(), default=0.0) or 1.0
    for place in near:
        classes[place >> 5] = place & 31
    meant = {place >> 5: score for place, score in near.items()}
    ranked = [
        (
            (key << 5) + classes[key],
            (words.get(key, 0.0) + BESIDE * (words.get(key - 1, 0.0) + words.get(key + 1, 0.0)))
            / best
            + SITTING * sittings.get(key >> 6, 0.0) / most
            + MEANING * meant.get(key, 0.0),
        )
        for key in classes
    ]
    ranked.sort(key=lambda item: (-item[1], -item[0]))
    return ranked


def measure_rarity(total: int, rows: int) -> float:
    """Return how much a word tells that so many of all messages have, as BM25 counts it."""
    return math.log(1 + (max(total, rows) - rows + 0.5) / (rows + 0.5))


def score_words(
    postings: Sequence[Postings], total: int
) -> tuple[dict[int, float], dict[int, float], dict[int, int]]:
    """Return BM25 by message and by sitting, and the class of each message's length."""
    words: dict[int, float] = defaultdict(float)
    sittings: dict[int, float] = defaultdict(float)
    classes: dict[int, int] = {}
    for places, *_ in postings:
        for place in places:
            classes[place >> 5] = place & 31
    average = sum(LENGTHS[size] for size in classes.values()) / (len(classes) or 1) or 1.0
    factors = [
        (1 + SATURATION) / (1 + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / average))
        for length in LENGTHS
    ]
    for places, rows, weight in postings:
        rarity = weight * measure_rarity(total, rows)
        scaled = [rarity * factor for factor in factors]
        times: dict[int, int] = defaultdict(int)
        for place in places:
            words[place >> 5] += scaled[place & 31]
            times[place >> 11] += 1
        for sitting, count in times.items():
            sittings[sitting] += rarity * count / (count + SATURATION)
    return dict(words), dict(sittings), classes
