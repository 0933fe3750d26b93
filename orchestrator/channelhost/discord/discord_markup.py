"""Write Discord's Markdown from the HTML of a reply, so that nothing else in it is markup. Pure.

Every sign of the text that Discord would take for markup is escaped. A link is shown with its
address: Discord shows the backslashes of an escaped label, and a label alone may lie.
"""

import re
from html.parser import HTMLParser

MAX_CONTENT = 2000  # characters of a message
_SIGNS = re.compile(r"https?://[^\s<>\\`|*]+|[\\*_~`|<\[]|(?m:^[ \t]*(?:-?#{1,3}|>|>>>)(?=\s))")
_MARKS = {"b": "**", "i": "*", "s": "~~"}
_FENCE = "```"
_UNFIT = re.compile(r"[\s<>\\]")  # what would end an address


def content_of(text: str, html: str) -> str:
    """Return a message's content: formatted if that fits, otherwise its plain text."""
    for content in (_formatted(html) if html else "", escaped(text)):
        if content.strip() and len(content) <= MAX_CONTENT:
            return content
    return _boxed(text) if text.strip() else ""


def escaped(text: str) -> str:
    """Return text that Discord shows as it is; addresses stay as they are, to be links."""
    return _SIGNS.sub(lambda found: _escape(found[0]), text)


def _escape(sign: str) -> str:
    if sign.startswith("http"):
        return sign
    bare = sign.lstrip()
    return f"{sign[: len(sign) - len(bare)]}\\{bare}"


def _boxed(text: str) -> str:
    """Return text in a block of code, in which nothing needs to be escaped."""
    return f"{_FENCE}\n{text.replace(_FENCE, chr(39) * 3)}\n{_FENCE}"


def _formatted(html: str) -> str:
    writer = _Writer()
    writer.feed(html)
    writer.close()
    return "".join(writer.written)


class _Writer(HTMLParser):
    """Writes the tags that `orchestrator.channels.formatting` knows; others are left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.written: list[str] = []
        self._code: list[str] | None = None  # of the block or piece that is open
        self._block = False
        self._language = ""
        self._address = ""
        self._quotes: list[list[str]] = []  # what stands before each quote that is open
        self._labels: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in _MARKS:
            self._write(_MARKS[tag])
        elif tag == "pre":
            self._code, self._block, self._language = [], True, ""
        elif tag == "code" and self._block:
            self._language = given.get("class", "").removeprefix("language-")
        elif tag == "code":
            self._code = []
        elif tag == "a":
            self._address, self._labels = given.get("href", ""), []
        elif tag == "blockquote":
            self._quotes.append(self.written)
            self.written = []

    def handle_endtag(self, tag: str) -> None:
        if tag in _MARKS:
            self._write(_MARKS[tag])
        elif tag == "pre":
            self._end_block()
        elif tag == "code" and not self._block and self._code is not None:
            code, self._code = "".join(self._code), None
            self._write(_piece(code))
        elif tag == "a":
            self._end_link()
        elif tag == "blockquote" and self._quotes:
            lines = "".join(self.written).split("\n")
            self.written = self._quotes.pop()
            self._write("\n".join(f"> {line}" for line in lines))

    def handle_data(self, data: str) -> None:
        self._labels.append(data)
        if self._code is not None:
            self._code.append(data)
        else:
            self._write(escaped(data))

    def _write(self, text: str) -> None:
        self.written.append(text)

    def _end_block(self) -> None:
        code = "".join(self._code or ()).replace(_FENCE, "`\u200b`\u200b`")
        self._code, self._block = None, False
        self._write(f"{_FENCE}{self._language}\n{code}\n{_FENCE}")

    def _end_link(self) -> None:
        label, address = "".join(self._labels), self._address
        fit = _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", address)
        if not address.startswith(("http://", "https://")):
            self._write(
                "" if label in (address, address.partition(":")[2]) else f" ({escaped(fit)})"
            )
        elif label != address:
            self._write(f" (<{fit}>)")


def _piece(code: str) -> str:
    """Return code within a line; Discord takes one or two marks around it."""
    if "``" in code or "\n" in code:
        return escaped(code)
    if "`" in code:
        return f"`` {code} ``"
    return f"`{code}`"
