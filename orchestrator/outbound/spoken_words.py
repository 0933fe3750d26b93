"""Extract the words to speak from an answer in Markdown. Pure."""

import re

MAX_SPOKEN = 3800  # characters; the rest is only in the text
FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
OPEN_FENCE = re.compile(r"^(```|~~~).*", re.MULTILINE | re.DOTALL)
TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t:|-]*-[ \t:|-]*$", re.MULTILINE)
LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
ADDRESS = re.compile(r"<?\bhttps?://[^\s>]+>?")
LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+)+", re.MULTILINE)
EMPHASIS = re.compile(r"(\*\*|__|~~|`|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|\b_(?=\S)|(?<=\S)_\b)")
HTML = re.compile(r"</?[a-zA-Z][^>\n]*>")
SENTENCE_END = re.compile(r"[.!?…:]['\")\]]*\s")


def extract_spoken_words(markdown: str) -> str:
    """Return the words of ``markdown``, without code, addresses, table lines and formatting.

    A long text is cut after a sentence.
    """
    text = OPEN_FENCE.sub("", FENCE.sub("", markdown))
    text = ADDRESS.sub("", LINK.sub(r"\1", HTML.sub("", text)))
    text = LINE_MARK.sub("", TABLE_RULE.sub("", text))
    text = EMPHASIS.sub("", text).replace("|", " ")
    lines = (" ".join(line.split()) for line in text.splitlines())
    words = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    if not any(char.isalnum() for char in words):
        return ""
    return words if len(words) <= MAX_SPOKEN else _cut_after_sentence(words[:MAX_SPOKEN])


def _cut_after_sentence(text: str) -> str:
    ends = [found.end() for found in SENTENCE_END.finditer(text)]
    return (text[: ends[-1]] if ends else text.rpartition(" ")[0] or text).strip()
