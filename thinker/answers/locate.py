"""Finds JSON in what a model wrote around it."""

import json
import re

TITLE = "[OUTPUT]"  # the prompt's last line, which models repeat; its bracket begins no list
TRIPLE = re.compile(r'"""(.*?)"""', re.DOTALL)
PROSE = re.compile(r"\[OUTPUT\]|\\.|(?P<start>[{\[])", re.DOTALL)
CODE = re.compile(r'(?P<output>\[OUTPUT\])|\\(?P<escaped>.)|(?P<mark>["{}\[\]])', re.DOTALL)
STRING = re.compile(r'(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
WRITTEN = {"\n": "\\n", "\t": "\\t"}


def blocks(text: str) -> list[str]:
    """Every JSON structure at the top level of a text; the last may be cut.

    Strings in three quotes become strings, line breaks and tabs in strings become escapes.
    """
    text = TRIPLE.sub(lambda match: json.dumps(match[1]), text).replace('"""', '"')
    found: list[str] = []
    at = 0
    while start := _start(text, at):
        block, at = _block(text, start - 1)
        found.append(block)
    return found


def _start(text: str, at: int) -> int:
    """Behind the next bracket that opens something, 0 when there is none."""
    return next((m.end() for m in PROSE.finditer(text, at) if m["start"]), 0)


def _block(text: str, start: int) -> tuple[str, int]:
    """The block that begins here, and where it ends."""
    parts: list[str] = []
    depth, at = 0, start
    while token := CODE.search(text, at):
        mark = token["mark"] or token["escaped"]
        # Outside strings an escaped quote is a quote, and any other escape is nothing.
        parts.append(text[at : token.start()])
        at = token.end()
        if token["output"]:
            parts.append(TITLE)
        elif mark == '"':
            string = STRING.match(text, at)
            parts.append('"' + _written(string[0] if string else ""))
            at = string.end() if string else at
        elif token["mark"]:
            parts.append(token["mark"])
            depth += 1 if token["mark"] in "{[" else -1
            if depth == 0:
                return "".join(parts), at
    return "".join(parts) + text[at:], len(text)


def _written(string: str) -> str:
    """The rest of a string with its line breaks and tabs as escapes."""
    return re.sub(r"\\.|[\n\t]", lambda m: WRITTEN.get(m[0], m[0]), string, flags=re.DOTALL)
