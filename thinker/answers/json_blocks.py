"""Find JSON structures in the text around them, and close one that is cut off."""

import json
import re

TITLE = "[OUTPUT]"  # the last line of Agently's layouts, which models repeat; it opens no list
TRIPLE = re.compile(r'"""(.*?)"""', re.DOTALL)
PROSE = re.compile(r"\[OUTPUT\]|\\.|(?P<start>[{\[])", re.DOTALL)
CODE = re.compile(r'(?P<title>\[OUTPUT\])|\\(?P<escaped>.)|(?P<mark>["{}\[\]])', re.DOTALL)
STRING = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*(?:"|\\?\Z)', re.DOTALL)
ESCAPES = {"\n": "\\n", "\t": "\\t"}
TOKEN = re.compile(
    r"""(?P<string>(?P<quote>["'])(?:[^"'\\]++|\\.|(?!(?P=quote))["'])*"""
    r"(?:(?P<end>(?P=quote))|\\?\Z))"
    r"|(?P<line>//[^\n\r]*+(?P<over>[\n\r]?))"
    r"|(?P<block>/\*.*?(?:(?P<closed>\*/)|\Z))"
    r"|[{}\[\]]",
    re.DOTALL,
)
CLOSING = {"{": "}", "[": "]"}


def extract_json_blocks(text: str) -> list[str]:
    """Return the outermost JSON structures in a text, in order; the last may be cut off.

    Strings in triple quotes become ordinary strings, and line breaks and tabs inside strings
    become escapes.
    """
    text = TRIPLE.sub(lambda match: json.dumps(match[1]), text).replace('"""', '"')
    found: list[str] = []
    at = 0
    while start := next((m for m in PROSE.finditer(text, at) if m["start"]), None):
        block, at = _read_block(text, start.start())
        found.append(block)
    return found


def close_open_json(text: str) -> str:
    """Return the text up to the end of its first structure, closing whatever is still open.

    Closes an open string or comment and all open brackets. Ignores closing brackets that match
    no opening one.
    """
    open_brackets: list[str] = []
    end = ""
    for token in TOKEN.finditer(text):
        bracket = token[0]
        if token["string"]:
            end = "" if token["end"] else token["quote"]
        elif token["line"]:
            end = "" if token["over"] else "\n"
        elif token["block"]:
            end = "" if token["closed"] else "*/"
        elif bracket in CLOSING:
            open_brackets.append(CLOSING[bracket])
        elif open_brackets and open_brackets[-1] == bracket:
            open_brackets.pop()
            if not open_brackets:
                return text[: token.end()]
    return text + end + "".join(reversed(open_brackets))


def _read_block(text: str, start: int) -> tuple[str, int]:
    """Return the block that begins at ``start``, and the offset of its end."""
    parts: list[str] = []
    depth, at = 0, start
    while token := CODE.search(text, at):
        mark = token["mark"] or token["escaped"]
        # Outside strings an escaped quote counts as a quote, and any other escape is dropped.
        parts.append(text[at : token.start()])
        at = token.end()
        if token["title"]:
            parts.append(TITLE)
        elif mark == '"':
            string = STRING.match(text, at)
            parts.append('"' + _escape_line_breaks(string[0] if string else ""))
            at = string.end() if string else at
        elif token["mark"]:
            parts.append(token["mark"])
            depth += 1 if token["mark"] in "{[" else -1
            if depth == 0:
                return "".join(parts), at
    return "".join(parts) + text[at:], len(text)


def _escape_line_breaks(string: str) -> str:
    return re.sub(r"\\.|[\n\t]", lambda m: ESCAPES.get(m[0], m[0]), string, flags=re.DOTALL)
