"""Bound what it costs to parse Markdown, before it is parsed.

The parser takes time that grows with the square of some texts: of ``![`` without an end, of a table
with many columns. So the cost of each line is estimated, from above, and only a beginning that the
caller can afford is parsed. Letters cost nothing; what counts is markup.
"""

import re

MESSAGE = 30_000  # microseconds, about: a message in which every line is marked up
WHOLE = 36_000  # a reply of several messages; what follows stays plain
MAX_FORMATTED = 65_536  # characters

_LINE = re.compile(r"[^\n]*\n?")
_MARKS = "!#$%&*+-:<=>@[\\]^_`{}~|.)"  # at each of these the parser tries its rules
_COST_LINE = 14  # microseconds, as measured on the slowest machine at hand
_COST_BLOCK = 30  # a line that may begin a block: a list item, a heading, a quote
_COST_MARK = 6
_COST_CELL = 14  # the cells of a row are as many as those of the widest row before it
_BRACKETS = 8  # pairs of brackets that cost about one microsecond: each opener looks at the rest
_BLOCK = re.compile(r"[\s>]*(?:[-+*#=_~`]|\d+[.)])")


def affordable(text: str, effort: int) -> int:
    """Return how many characters from the beginning of ``text`` can be parsed with ``effort``.

    These are whole lines. All of a text that has no more than usual Markdown is affordable.
    """
    spent = end = openers = cells = 0
    for match in _LINE.finditer(text[:MAX_FORMATTED]):
        line = match[0]
        if not line:
            break
        if line.isspace():  # a paragraph ends, and what is open in it
            openers = cells = 0
        found = line.count("[")
        cells = max(cells, line.count("|"))
        spent += _COST_BLOCK if _BLOCK.match(line) else _COST_LINE
        spent += _COST_MARK * sum(map(line.count, _MARKS)) + _COST_CELL * cells
        spent += ((openers + found) ** 2 - openers**2) // _BRACKETS
        openers += found
        if spent > effort:
            return end
        end = match.end()
    return end
