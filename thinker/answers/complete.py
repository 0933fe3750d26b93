"""Closes what a cut JSON text has left open: its string, its comment, its brackets."""

import re

TOKEN = re.compile(
    r"""(?P<string>(?P<quote>["'])(?:\\.|(?!(?P=quote))[^\\])*+(?:(?P<end>(?P=quote))|\\?\Z))"""
    r"|(?P<line>//[^\n\r]*+(?P<over>[\n\r]?))"
    r"|(?P<block>/\*.*?(?:(?P<closed>\*/)|\Z))"
    r"|[{}\[\]]",
    re.DOTALL,
)
CLOSING = {"{": "}", "[": "]"}


def complete(text: str) -> str:
    """The text up to the end of its first structure, or with everything closed that is open.

    A closing bracket that fits none is passed over.
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
