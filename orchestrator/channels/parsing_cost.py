"""Limit the cost of parsing Markdown, before it is parsed.

The parser takes time that grows with the square of some input: of ``![`` without an end, of a table
with many columns. So an upper bound of each line's cost is estimated, and only an affordable
beginning is parsed. Only markup costs; letters are free.
"""

import re

MAX_COST = 30_000  # microseconds, about: three messages in which every line is marked up
MAX_FORMATTED = 65_536  # characters

_LINE = re.compile(r"[^\n]*\n?")
_MARKS = "!#$%&*+-:<=>@[\\]^_`{}~|.)"  # at each of these the parser tries its rules
_COST_LINE = 14  # microseconds, as measured on the slowest machine at hand
_COST_BLOCK = 30  # a line that may begin a block: a list item, a heading, a quote
_COST_MARK = 6
_COST_LINK = 40
_COST_CELL = 14  # the cells of a row are as many as those of the widest row before it
_BRACKETS = 8  # pairs of brackets that cost about one microsecond: each opener looks at the rest
_COST_QUOTED = 3  # a quote looks at all lines up to the next empty one, and so does each in it
_BLOCK = re.compile(r"[ \t]*(?:[-+*#=_~`>]|\d+[.)])")


def find_affordable_end(text: str) -> int:
    """Return the number of characters of ``text`` that can be parsed in little time.

    These are whole lines. Text with no more than the usual Markdown is affordable as a whole.
    """
    spent = end = openers = cells = quotes = depth = 0
    for match in _LINE.finditer(text[:MAX_FORMATTED]):
        line = match[0]
        if not line:
            break
        if line.isspace():  # a paragraph ends, and what is open in it
            openers = cells = quotes = depth = 0
        found, block = line.count("["), _BLOCK.match(line) is not None
        cells = max(cells, line.count("|"))
        outside, depth = depth, line.count(">") if block else 0
        quotes += max(0, depth - outside)
        spent += (_COST_BLOCK if block else _COST_LINE) + _COST_QUOTED * quotes
        spent += _COST_MARK * sum(map(line.count, _MARKS)) + _COST_CELL * cells
        spent += _COST_LINK * (line.count("](") + line.count("<"))
        spent += ((openers + found) ** 2 - openers**2) // _BRACKETS
        openers += found
        if spent > MAX_COST:
            return end
        end = match.end()
    return end
