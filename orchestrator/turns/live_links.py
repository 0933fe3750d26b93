"""Links of a reply that could carry out what a turn has read, written so that nothing opens them.

A link is opened by its reader or, for a preview, by the platform; what stands in its address then
reaches its host. Pure, and linear in the text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from orchestrator.journal.turns.taint import Taint
from orchestrator.journal.turns.turns import Context
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, UserMessage
from thinker.protocol.methods import RecordedStep

HINT = re.compile(r"[\w\]]\.[\w[]|://")  # without it, a text has no address
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
SHORT, LONG = 5, 32  # characters of a telling word that are compared
KNOWN = 200_000  # characters; these take about 30 milliseconds
SHOWN = 16_384  # characters of a growing answer with links
ENDS = ".,;:!?"


@dataclass
class LinkGuard:
    """Knows the addresses that a turn has seen, and takes the life out of others.

    An address that stood in a text just so tells its host little, unless it has a query or what
    stands in another, private text. One whose host the chat's own user wrote goes where the user
    wants it to go.
    """

    _texts: dict[str, int] = field(default_factory=dict)  # numbers, by what they are the number of
    _seen: dict[str, int] = field(default_factory=dict)  # by address: the text that it stood in
    _private: dict[str, int] = field(default_factory=dict)  # by telling word, as `_seen`
    _starts: set[str] = field(default_factory=set)  # of telling words
    _sizes: set[int] = field(default_factory=set)  # of telling words
    _hosts: set[str] = field(default_factory=set)

    @classmethod
    def of_turn(
        cls, said: Iterable[Message], history: Iterable[Message], steps: Iterable[RecordedStep]
    ) -> Self:
        """Return a guard that knows what a turn was given and has read."""
        guard = cls()
        guard.add(_given(said, history, steps))
        return guard

    def add(self, messages: Iterable[Message]) -> None:
        """Take the addresses of messages as seen, but for those that the model wrote."""
        for message in messages:
            if isinstance(message, AssistantMessage):
                continue
            number = self._texts.setdefault(message.content, len(self._texts))
            if isinstance(message, ToolResult) and message.private:
                self._add_private(message.content.lower(), number)
            for found in _ADDRESS.finditer(message.content):
                self._seen.setdefault(found[0].rstrip(ENDS), number)
                if isinstance(message, UserMessage) and not message.untrusted:
                    self._hosts.add(_host(found))

    def _add_private(self, text: str, number: int) -> None:
        for whole in _telling(text):
            word = whole[:LONG]
            self._starts.add(word[:SHORT])
            self._sizes.add(len(word))
            if self._private.setdefault(word, number) != number:
                self._private[word] = SEVERAL

    def defused(self, text: str) -> str:
        """Return Markdown in which no other address is a link or a picture."""
        if HINT.search(text) is None:
            return text
        return _ADDRESS.sub(self._address, _LINK.sub(self._link, text))

    def _link(self, found: re.Match[str]) -> str:
        target = _ADDRESS.search(found["target"])
        if target is not None and self._known(target):
            return found[0]
        return f"{found['label']} ({found['target']})".lstrip()

    def _address(self, found: re.Match[str]) -> str:
        if self._known(found):
            return found[0]
        scheme, rest = found["scheme"], found["rest"] or ""
        dead = f"{_TT.sub('xx', scheme)}://" if scheme else ""
        return (
            dead + (found["place"] or found["host"]).replace(".", "[.]") + rest.replace(".", "[.]")
        )

    def _known(self, found: re.Match[str]) -> bool:
        address = found[0].rstrip(ENDS)
        if _host(found) in self._hosts:
            return True
        if address in self._seen and not re.search("[?#]", address):
            return not self._tells(address.lower(), self._seen[address])
        if found["scheme"] or found["rest"]:
            return False
        return found["host"].count(".") == 1 or not _DATA.search(found["host"])

    def _tells(self, address: str, number: int) -> bool:
        """Return whether an address has a telling word of another text than that of the number."""
        return any(
            self._private.get(address[at : at + size], number) != number
            for at in range(len(address))
            if address[at : at + SHORT] in self._starts
            for size in self._sizes
        )


class PreviewedLinks:
    """Takes the life out of links while an answer grows, by what the turn has read so far.

    This runs between other chats' work. So only `KNOWN` characters are searched for addresses that
    may stay: of a turn that has read more, no link is left until its reply.
    """

    def __init__(self, read: Taint, context: Context, *, on: bool) -> None:
        self._on = on
        self._untrusted, self._private = bool(read.untrusted), bool(read.private)
        self._new = [*_given(context.said, context.history, context.steps)]
        self._guard = LinkGuard()
        self._room = KNOWN

    def read(self, message: ToolResult | UserMessage) -> None:
        self._untrusted |= message.untrusted
        self._private |= isinstance(message, ToolResult) and message.private
        self._new.append(message)

    def safe(self, text: str) -> str:
        """Return the beginning of an answer as it may be shown."""
        if not (self._on and self._untrusted and self._private) or HINT.search(text) is None:
            return text
        self._room -= sum(len(message.content) for message in self._new)
        if self._room < 0:
            self._guard = LinkGuard()  # without all private texts, it could take none for known
        else:
            self._guard.add(self._new)
        self._new.clear()
        return self._guard.defused(text[:SHOWN])


def _given(
    said: Iterable[Message], history: Iterable[Message], steps: Iterable[RecordedStep]
) -> Iterator[Message]:
    """Yield what a turn was given and has read."""
    yield from said
    yield from history
    for step in steps:
        yield from (call.result for call in step.calls if call.result is not None)
        yield from step.entered


def _telling(text: str) -> Iterator[str]:
    """Yield what is hardly in two texts by chance: numbers with their words, and long words."""
    for found in _RUN.finditer(text):
        run = found[0].strip("-")
        if _DIGIT.search(run) is None:
            yield from (word for word in run.split("-") if len(word) >= LONG_WORD)
        elif len(run) >= SHORT:
            yield run


def _host(found: re.Match[str]) -> str:
    place: str = found["place"] or found["host"]
    return place.rpartition("@")[2].partition(":")[0].lower()
