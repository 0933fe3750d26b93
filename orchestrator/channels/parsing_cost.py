"""Limit the cost of parsing Markdown, before it is parsed.

The parser takes time that grows with the square of some input: of ``![`` without an end, of a table
with many columns. So an upper bound of each line's cost is estimated, and only an affordable
beginning is parsed. Only markup costs; letters and lines of code are nearly free.
"""

import re
from collections.abc import Set as AbstractSet

from markdown_it import MarkdownIt

MAX_COST = 30_000  # microseconds, about: three messages in which every line is marked up
MAX_FORMATTED = 65_536  # characters
MAX_NESTING = 24  # the parser drops text nested deeper, so such text is not formatted

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARKS = "!#$%&*+-:<=>@[\\]^_`{}~|.)"  # at each of these the parser tries its rules
_COST_LINE = 14  # microseconds, as measured on the slowest machine at hand
_COST_BLOCK = 30  # a line that may begin a block: a list item, a heading, a quote
_COST_CODE = 5  # a line of a code block: the parser only looks whether the block ends
_COST_MARK = 6
_COST_LINK = 40
_COST_CELL = 14  # the cells of a row are as many as those of the widest row before it
_LOOKED_AT = 8  # marks that cost about one microsecond: each opener looks at all after it
_COST_QUOTED = 3  # a quote looks at all lines up to the next empty one, and so does each in it
_BLOCK = re.compile(r"[ \t]*(?:[-+*#=_~`>]|\d+[.)])")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
# Finds code blocks; the text of paragraphs, whose parsing costs most, is not looked at.
_BLOCKS = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
_BLOCKS.enable("table").disable(["reference", "inline", "text_join"])


def find_affordable_end(text: str) -> int:
    """Return the number of characters of ``text`` that can be parsed in little time.

    These are whole lines, and code blocks as a whole. Text with no more than the usual Markdown is
    affordable to the end.
    """
    end = _find_end(text)
    if end == len(text) or not _FENCE.search(text):
        return end
    parsed = text[: _find_end(text, inline=False)]
    last = parsed.count("\n") if len(parsed) < len(text) else -1  # its block may go on
    blocks = (token.map for token in _BLOCKS.parse(parsed) if token.type == "fence")
    inside = {
        line
        for first, after in filter(None, blocks)
        for line in range(first, after if after == last else after - 1)
    }
    return _find_end(parsed, inside)


def _find_end(text: str, inside: AbstractSet[int] = frozenset(), *, inline: bool = True) -> int:
    """Return the end of the last affordable line; ``inside`` has the lines that no cut may follow.

    These are lines of code blocks, in which nothing is markup. Without ``inline``, the cost is that
    of finding the blocks.
    """
    most = len(text) if len(text) <= MAX_FORMATTED else text.rfind("\n", 0, MAX_FORMATTED) + 1
    costs = _LineCosts()
    spent = end = 0
    for number, match in enumerate(_LINE.finditer(text, 0, most)):
        spent += _COST_CODE if number in inside else costs.estimate(match[0], inline=inline)
        if spent > MAX_COST:
            break
        if number not in inside:
            end = match.end()
    return end


class _LineCosts:
    """Estimates the cost of each line, which depends on the lines before."""

    def __init__(self) -> None:
        self._openers = self._cells = self._quotes = self._depth = 0

    def estimate(self, line: str, *, inline: bool) -> int:
        """Return the cost of the next line, in microseconds: of its block, and ``inline``."""
        if line.isspace():  # a paragraph ends, and what is open in it
            self._openers = self._cells = self._quotes = self._depth = 0
        block = _BLOCK.match(line) is not None
        self._cells = max(self._cells, line.count("|"))
        outside, self._depth = self._depth, line.count(">") if block else 0
        self._quotes += max(0, self._depth - outside)
        cost = (_COST_BLOCK if block else _COST_LINE) + _COST_CELL * self._cells
        cost += _COST_QUOTED * self._quotes
        return cost + self._estimate_inline(line) if inline else cost

    def _estimate_inline(self, line: str) -> int:
        before, marks = self._openers, sum(map(line.count, _MARKS))
        self._openers += line.count("[")
        return (
            _COST_MARK * marks
            + _COST_LINK * (line.count("](") + line.count("<"))
            + (before + self._openers) * marks // _LOOKED_AT
        )
