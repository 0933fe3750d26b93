"""Break long lines at their spaces, for a terminal."""

import re

PAINT = re.compile(r"\x1b\[[\d;]*m")  # takes no room on the screen


def fold_lines(text: str, width: int, indent: str = "") -> str:
    """Break long lines at spaces; continuation lines begin with ``indent``.

    A word that is longer than a line stays whole, so that it can be copied.
    """
    return "\n".join(_fold_line(line, width, indent) for line in text.split("\n"))


def _fold_line(line: str, width: int, indent: str) -> str:
    if _count_columns(line) <= width:
        return line
    words = line.lstrip(" ")
    margin = " " * (len(line) - len(words))
    lines: list[str] = []
    for word in words.split(" "):
        if lines and _count_columns(lines[-1]) + 1 + _count_columns(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{margin}{indent if lines else ''}{word}")
    return "\n".join(lines)


def _count_columns(text: str) -> int:
    return len(PAINT.sub("", text))
