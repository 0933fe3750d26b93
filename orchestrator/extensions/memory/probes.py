"""Questions for a trial of the search, made of what people have said themselves.

Each question is a message without the rarer half of its telling words, and the message is what the
search should find. They are picked by rule, so a repeated trial asks the same.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.extensions.memory import fact_keywords
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fulltext

DAY = 24 * 60 * 60 * 1000  # milliseconds: what was said since is still in the conversation
SITTING = 2 * 60 * 60 * 1000  # milliseconds; one question of each is enough
MAX_READ = 5_000  # messages, newest first, among which questions are picked
MAX_LENGTH = 400  # characters of a message that becomes a question
MIN_WORDS, MAX_WORDS = 3, 6  # of a question
SHORTEST = 3  # letters of a telling word
RARE = 5  # the rarest words of a message, by which it is picked
SAID = (
    "SELECT said.id, said.at, said.text, session.agent_id, session.scope, said.session_id FROM said"
    " JOIN message ON message.id = said.id JOIN session ON session.id = said.session_id"
    " WHERE role = 'user' AND ifnull(message.body ->> 'origin', 'user') IN('user', 'operator')"
    " AND said.at < ? AND session.agent_id = ifnull(?, session.agent_id)"
    " AND session.scope = ifnull(?, session.scope) ORDER BY said.id DESC LIMIT ?"
)


class ProbedMessage(NamedTuple):
    """A message of a person, with the agent and the scope of its conversation; ``at`` in ms."""

    id: int
    at: int
    text: str
    agent_id: str
    scope: str
    session_id: int


class Probe(NamedTuple):
    """A question, and the message that it is made of, if it is."""

    question: str
    expected: ProbedMessage | None = None


def pick_probes(
    db: Database, agent_id: str | None, scope: str | None, now: int, count: int
) -> list[Probe]:
    """Return questions about messages older than a day, oldest first; fewer if little was said.

    Messages with rare words come first, then those that ask or name numbers such as dates.
    """
    rows = db.execute(SAID, (now - DAY, agent_id, scope, MAX_READ))
    said = [message for row in rows if len((message := ProbedMessage(*row)).text) <= MAX_LENGTH]
    words = {message.id: _list_telling_words(message.text) for message in said}
    common = Counter(word for found in words.values() for word in {*found})
    ranked = sorted(
        (message for message in said if len(words[message.id]) >= MIN_WORDS + 1),
        key=lambda message: -_rate_message(message.text, words[message.id], common, len(said)),
    )
    sittings: set[tuple[int, int]] = set()
    picked: list[ProbedMessage] = []
    for message in ranked:
        sitting = message.session_id, message.at // SITTING
        if sitting not in sittings and len(picked) < count:
            sittings.add(sitting)
            picked.append(message)
    return [
        Probe(" ".join(_drop_words(words[message.id], common)), message)
        for message in sorted(picked, key=lambda message: message.id)
    ]


def _rate_message(text: str, words: Sequence[str], common: Counter[str], total: int) -> float:
    rarity = sorted((math.log(total / common[word]) for word in {*words}), reverse=True)
    asks = text.rstrip().endswith(("?", "\uff1f", "\u061f"))
    return sum(rarity[:RARE]) + asks + bool(re.search(r"\d", text))


def _drop_words(words: Sequence[str], common: Counter[str]) -> list[str]:
    """Return the words without their rarer half, as people forget just those; three at least."""
    count = min(max(len(words) // 2, MIN_WORDS), MAX_WORDS)
    kept = sorted(words, key=lambda word: -common[word])[:count]
    return [word for word in words if word in kept]


def _list_telling_words(text: str) -> list[str]:
    """Return the words that tell what a message is about, in order, without commands."""
    if text.lstrip().startswith("/"):
        return []
    telling = fact_keywords.extract_keywords(text)
    return [word for word in dict.fromkeys(_split_words(text)) if word in telling]


def _split_words(text: str) -> Iterator[str]:
    """Yield the words of a text, and pairs of characters of scripts without spaces."""
    for found in re.finditer(r"\w+", text.lower()):
        word = found[0]
        if fulltext.SPACELESS.fullmatch(word):
            yield from (word[i : i + 2] for i in range(0, len(word), 2))
        elif len(word) >= SHORTEST:
            yield word
