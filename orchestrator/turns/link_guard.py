"""Defuse links of a reply that could carry out what the turn has read.

A link is opened by its reader or, for a preview, by the platform, which sends its address to its
host. All functions are linear in the text.

Where: are links of a reply defused?
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions, taint
from orchestrator.journal.turns.taint import Taint
from orchestrator.journal.turns.turns import StoredTurn, Turn
from orchestrator.turns.turn_inputs import WINDOW
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, UserMessage
from thinker.protocol.methods import RecordedStep

HINT = re.compile(r"[\w\]]\.[\w[]|://")  # text without a match has no address
_PART = r"[^\s<>\"'`)\]}|\\]"
_HOST = r"(?:[\w-]{1,63}\.){1,9}[^\W_][\w-]{1,62}"
_ADDRESS = re.compile(
    rf"(?<![\w.-])(?:(?P<scheme>[a-z][a-z0-9+.-]{{1,15}})://(?P<place>[^\s/?#<>\"'`)]{{1,300}})"
    rf"|(?P<host>{_HOST})(?![\w-])(?::\d{{1,5}})?)(?P<rest>[/?#]{_PART}*)?",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"!?\[(?P<label>[^\[\]\n]{0,500})\]\(\s*<?(?P<target>[^\s<>()]++)[^()\n]{0,200}\)"
)
_DATA = re.compile(r"[\d-]|\w{12}")  # what a label of a host could carry
_RUN = re.compile(r"[\w-]{5,}+")
_DIGIT = re.compile(r"\d")
_TT = re.compile("tt", re.IGNORECASE)
SEVERAL = -1  # instead of the number of a text
LONG_WORD = 12  # characters
SHORT, LONG = 5, 32  # compared characters of a telling word
MAX_SEARCHED = 200_000  # characters; these take about 30 milliseconds
MAX_PREVIEW = 16_384  # characters of a growing answer with links
ENDS = ".,;:!?"


@dataclass
class LinkGuard:
    """Knows the addresses that a turn has seen, and defuses all others.

    An address copied from text reveals little to its host, unless it has a query or contains
    parts of another, private text. An address whose host the chat's own user wrote goes where the
    user wants.
    """

    _texts: dict[str, int] = field(default_factory=dict)  # numbers, by what they are the number of
    _seen: dict[str, int] = field(default_factory=dict)  # by address: the text that it stood in
    _private: dict[str, int] = field(default_factory=dict)  # by telling word, as `_seen`
    _starts: set[str] = field(default_factory=set)  # of telling words
    _sizes: set[int] = field(default_factory=set)  # of telling words
    _hosts: set[str] = field(default_factory=set)

    @classmethod
    def for_turn(
        cls, said: Iterable[Message], history: Iterable[Message], steps: Iterable[RecordedStep]
    ) -> Self:
        """Return a guard that knows what a turn was given and has read."""
        guard = cls()
        guard.add_messages(_iter_known_messages(said, history, steps))
        return guard

    def add_messages(self, messages: Iterable[Message]) -> None:
        """Mark the addresses of messages as seen, except the model's own messages."""
        for message in messages:
            if isinstance(message, AssistantMessage):
                continue
            number = self._texts.setdefault(message.content, len(self._texts))
            quote = message.quote if isinstance(message, UserMessage) else None
            for found in _ADDRESS.finditer(quote.text) if quote else ():
                self._seen.setdefault(found[0].rstrip(ENDS), number)
            if isinstance(message, ToolResult) and message.private:
                self._add_private_words(message.content.lower(), number)
            for found in _ADDRESS.finditer(message.content):
                self._seen.setdefault(found[0].rstrip(ENDS), number)
                if isinstance(message, UserMessage) and not message.is_untrusted:
                    self._hosts.add(_parse_host(found))

    def _add_private_words(self, text: str, number: int) -> None:
        for whole in _iter_telling_words(text):
            word = whole[:LONG]
            self._starts.add(word[:SHORT])
            self._sizes.add(len(word))
            if self._private.setdefault(word, number) != number:
                self._private[word] = SEVERAL

    def defuse_links(self, text: str) -> str:
        """Return Markdown in which no other address is a link or a picture."""
        if HINT.search(text) is None:
            return text
        return _ADDRESS.sub(self._replace_address, _LINK.sub(self._replace_link, text))

    def _replace_link(self, found: re.Match[str]) -> str:
        target = _ADDRESS.search(found["target"])
        if target is not None and self._is_known_address(target):
            return found[0]
        return f"{found['label']} ({found['target']})".lstrip()

    def _replace_address(self, found: re.Match[str]) -> str:
        if self._is_known_address(found):
            return found[0]
        scheme, rest = found["scheme"], found["rest"] or ""
        dead = f"{_TT.sub('xx', scheme)}://" if scheme else ""
        return (
            dead + (found["place"] or found["host"]).replace(".", "[.]") + rest.replace(".", "[.]")
        )

    def _is_known_address(self, found: re.Match[str]) -> bool:
        address = found[0].rstrip(ENDS)
        if _parse_host(found) in self._hosts:
            return True
        if address in self._seen and not re.search("[?#]", address):
            return not self._has_private_word(address.lower(), self._seen[address])
        if found["scheme"] or found["rest"]:
            return False
        return found["host"].count(".") == 1 or not _DATA.search(found["host"])

    def _has_private_word(self, address: str, number: int) -> bool:
        """Return whether an address contains a telling word from another text."""
        return any(
            self._private.get(address[at : at + size], number) != number
            for at in range(len(address))
            if address[at : at + SHORT] in self._starts
            for size in self._sizes
        )


def defuse_reply(db: Database, turn: Turn, text: str) -> str:
    """Return a reply without links that could carry out what the turn has read."""
    read = taint.load_taint(db, turn.id)
    if not (read.untrusted and read.private):
        return text
    known = sessions.load_transcript(db, turn.id)
    said = (row.build_user_message(db) for row in known.opening_rows)
    history = sessions.list_history(db, turn.session_id, WINDOW)
    return LinkGuard.for_turn(said, history, known.steps).defuse_links(text)


class PreviewedLinks:
    """Defuses links while an answer grows, by what the turn has read so far.

    This runs between other chats' work. So only `MAX_SEARCHED` characters are searched for
    addresses that may stay: of a turn that has read more, no link is left until its reply.
    """

    def __init__(self, read: Taint, context: StoredTurn, *, on: bool) -> None:
        self._on = on
        self._untrusted, self._private = bool(read.untrusted), bool(read.private)
        self._new = [*_iter_known_messages(context.said, context.history, context.steps)]
        self._guard = LinkGuard()
        self._room = MAX_SEARCHED

    def add_message(self, message: ToolResult | UserMessage) -> None:
        self._untrusted |= message.is_untrusted
        self._private |= isinstance(message, ToolResult) and message.private
        self._new.append(message)

    def defuse_preview(self, text: str) -> str:
        """Return the displayable beginning of an answer."""
        if not (self._on and self._untrusted and self._private) or HINT.search(text) is None:
            return text
        self._room -= sum(len(message.content) for message in self._new)
        if self._room < 0:
            self._guard = LinkGuard()  # without all private texts, it could take none for known
        else:
            self._guard.add_messages(self._new)
        self._new.clear()
        return self._guard.defuse_links(text[:MAX_PREVIEW])


def _iter_known_messages(
    said: Iterable[Message], history: Iterable[Message], steps: Iterable[RecordedStep]
) -> Iterator[Message]:
    """Yield what a turn was given and has read."""
    yield from said
    yield from history
    for step in steps:
        yield from (call.result for call in step.calls if call.result is not None)
        yield from step.entered


def _iter_telling_words(text: str) -> Iterator[str]:
    """Yield words that texts hardly share by chance: long words, numbers with their words."""
    for found in _RUN.finditer(text):
        run = found[0].strip("-")
        if _DIGIT.search(run) is None:
            yield from (word for word in run.split("-") if len(word) >= LONG_WORD)
        elif len(run) >= SHORT:
            yield run


def _parse_host(found: re.Match[str]) -> str:
    place: str = found["place"] or found["host"]
    return place.rpartition("@")[2].partition(":")[0].lower()
