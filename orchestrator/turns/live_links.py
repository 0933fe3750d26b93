"""Links of a reply that could carry out what a turn has read, written so that nothing opens them.

A link is opened by its reader or, for a preview, by the platform; what stands in its address then
reaches its host. Pure, and linear in the text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
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
    r"!?\[(?P<label>[^\[\]\n]{0,500})\]\(\s*<?(?P<target>[^\s<>()]+)[^()\n]{0,200}\)"
)
_DATA = re.compile(r"[\d-]|\w{12}")  # what a label of a host could carry
_TELLING = re.compile(r"\b(?=[\w-]*\d)[\w-]{5,}|\b\w{12,}")  # what is hardly in two texts by chance
_TT = re.compile("tt", re.IGNORECASE)
ENDS = ".,;:!?"


@dataclass
class LinkGuard:
    """Knows the addresses that a turn has seen, and takes the life out of others.

    An address that stood in a text just so tells its host little, unless it has a query or what
    stands in another, private text. One whose host the chat's own user wrote goes where the user
    wants it to go.
    """

    _seen: dict[str, str] = field(default_factory=dict)  # by address: the text that it stood in
    _private: list[tuple[str, frozenset[str]]] = field(default_factory=list)  # text, telling words
    _hosts: set[str] = field(default_factory=set)

    @classmethod
    def of_turn(
        cls, said: Iterable[Message], history: Iterable[Message], steps: Iterable[RecordedStep]
    ) -> Self:
        """Return a guard that knows what a turn was given and has read."""
        guard = cls()
        guard.add(said)
        guard.add(history)
        for step in steps:
            guard.add(call.result for call in step.calls if call.result is not None)
            guard.add(step.entered)
        return guard

    def add(self, messages: Iterable[Message]) -> None:
        """Take the addresses of messages as seen, but for those that the model wrote."""
        for message in messages:
            if isinstance(message, AssistantMessage):
                continue
            if isinstance(message, ToolResult) and message.private:
                words = frozenset(_TELLING.findall(message.content.lower()))
                self._private.append((message.content, words))
            for found in _ADDRESS.finditer(message.content):
                self._seen.setdefault(found[0].rstrip(ENDS), message.content)
                if isinstance(message, UserMessage) and not message.untrusted:
                    self._hosts.add(_host(found))

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
            others = (words for text, words in self._private if text != self._seen[address])
            return not any(word in address.lower() for words in others for word in words)
        if found["scheme"] or found["rest"]:
            return False
        return found["host"].count(".") == 1 or not _DATA.search(found["host"])


class PreviewedLinks:
    """Takes the life out of links while an answer grows, by what the turn has read so far."""

    def __init__(self, read: Taint, context: Context, *, on: bool) -> None:
        self._on = on
        self._untrusted, self._private = bool(read.untrusted), bool(read.private)
        self._context = context
        self._results: list[Message] = []

    def read(self, message: ToolResult | UserMessage) -> None:
        self._untrusted |= message.untrusted
        self._private |= isinstance(message, ToolResult) and message.private
        self._results.append(message)

    def safe(self, text: str) -> str:
        if not (self._on and self._untrusted and self._private) or HINT.search(text) is None:
            return text
        guard = self._guard
        guard.add(self._results)
        self._results.clear()
        return guard.defused(text)

    @cached_property
    def _guard(self) -> LinkGuard:
        context = self._context
        return LinkGuard.of_turn(context.said, context.history, context.steps)


def _host(found: re.Match[str]) -> str:
    place: str = found["place"] or found["host"]
    return place.rpartition("@")[2].partition(":")[0].lower()
