"""Write Discord's Markdown from the HTML of a reply, escaping everything else. Pure.

Every character that Discord would read as markup is escaped. A link is shown with its address:
Discord shows the backslashes of an escaped label, and a label without it may deceive.
"""

import re
from html.parser import HTMLParser

MAX_CONTENT = 2000  # characters of a message
_SIGNS = re.compile(r"https?://[^\s<>\\]+|[\\*_~`|<\[]|(?m:^[ \t]*(?:-?#{1,3}|>|>>>)(?=\s))")
_MARKS = {"b": "**", "i": "*", "s": "~~"}
_FENCE = "```"
_UNFIT = re.compile(r"[\s<>\\]")  # characters that would end an address


def format_content(text: str, html: str) -> str:
    """Return a message's content: formatted if that fits, otherwise its plain text."""
    for content in (_convert_html(html) if html else "", escape_text(text)):
        if content.strip() and len(content) <= MAX_CONTENT:
            return content
    return _format_code_block(text) if text.strip() else ""


def escape_text(text: str) -> str:
    """Escape text for Discord; addresses stay unescaped, so that they become links."""
    return _SIGNS.sub(lambda found: _escape_sign(found[0]), text)


def _escape_sign(sign: str) -> str:
    if sign.startswith("http"):
        return sign
    bare = sign.lstrip()
    return f"{sign[: len(sign) - len(bare)]}\\{bare}"


def _format_code_block(text: str) -> str:
    """Return text in a code block, where nothing needs escaping."""
    return f"{_FENCE}\n{text.replace(_FENCE, chr(39) * 3)}\n{_FENCE}"


def _convert_html(html: str) -> str:
    writer = _Writer()
    writer.feed(html)
    writer.close()
    return "".join(writer.written)


class _Writer(HTMLParser):
    """Writes the tags that `orchestrator.channels.formatting` knows; omits others."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.written: list[str] = []
        self._code: list[str] | None = None  # of the block or piece that is open
        self._block = False
        self._language = ""
        self._address = ""
        self._quotes: list[list[str]] = []  # the text before each open quote
        self._labels: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in _MARKS:
            self._write_text(_MARKS[tag])
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
            self._write_text(_MARKS[tag])
        elif tag == "pre":
            self._end_block()
        elif tag == "code" and not self._block and self._code is not None:
            code, self._code = "".join(self._code), None
            self._write_text(_format_inline_code(code))
        elif tag == "a":
            self._end_link()
        elif tag == "blockquote" and self._quotes:
            lines = "".join(self.written).split("\n")
            self.written = self._quotes.pop()
            self._write_text("\n".join(f"> {line}" for line in lines))

    def handle_data(self, data: str) -> None:
        self._labels.append(data)
        if self._code is not None:
            self._code.append(data)
        else:
            self._write_text(escape_text(data))

    def _write_text(self, text: str) -> None:
        self.written.append(text)

    def _end_block(self) -> None:
        code = "".join(self._code or ()).replace(_FENCE, "`\u200b`\u200b`")
        self._code, self._block = None, False
        self._write_text(f"{_FENCE}{self._language}\n{code}\n{_FENCE}")

    def _end_link(self) -> None:
        label, address = "".join(self._labels), self._address
        fit = _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", address)
        if not address.startswith(("http://", "https://")):
            self._write_text(
                "" if label in (address, address.partition(":")[2]) else f" ({escape_text(fit)})"
            )
        elif label != address:
            self._write_text(f" (<{fit}>)")


def _format_inline_code(code: str) -> str:
    """Return inline code; Discord allows one or two backticks around it."""
    if "``" in code or "\n" in code:
        return escape_text(code)
    if "`" in code:
        return f"`` {code} ``"
    return f"`{code}`"
