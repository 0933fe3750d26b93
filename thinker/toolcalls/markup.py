"""Tell what a model says to people from its reasoning and its tool calls in the same text.

Templates of models write both between marks, and servers that do not know a template pass the marks
on. `dialects.json` has the marks of each family of models. A tag in a sentence or in code is prose.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from thinker.toolcalls.quoting import Quotation

MarkKind = Literal["call", "thought", "frame", "end"]
FENCE = r"```.*?(?:```|\Z)"
BLANK_LINES = re.compile(rf"(?P<code>{FENCE})|\n{{3,}}", re.DOTALL)
FIRST = re.compile(r"<(?=[|\uff5c/A-Za-z]|\Z)|\[(?=[Tt/]|\Z)|\](?=<|\Z)")  # how each mark begins
# A template may put the opening tag into the prompt; in the answer only the closing one follows.
# Then it ends a paragraph or stands between two words, as it never does in a sentence.
UNOPENED = re.compile(
    r"(?:(?<=\n)|(?<=[\w.!?。]))(?:</think(?:ing)?>|</seed:think>|\[/THINK\])(?=\s*\n|\s*\Z|[^\s\W])"
    r"|<\|END_THINKING\|>",
    re.IGNORECASE,
)
# What servers leave of gpt-oss's marks: "analysisWe think.assistantfinalYes."
BARE_CHANNELS = re.compile(
    r"\s*(?:analysis(?=.*?assistant(?:final|commentary to=))|assistantfinal"
    r"|(?:assistant)?commentary to=[\w.:-]+\s*(?:json|code)?\s*\{)",
    re.DOTALL,
)
BARE_CHANNEL = re.compile(
    r"\A\s*analysis|assistantfinal"
    r"|(?:assistant|\A\s*)(commentary to=[\w.:-]+)\s*(?:json|code)?\s*(?=\{)"
)
# Calls without marks, which count as the whole answer: "[add(a=1)]", Gemini's code, Phi's list.
BARE_CALLS = re.compile(
    r"\[\s*[A-Za-z_][\w.]*\(.*\)\s*\]"
    r"|(?:```tool_(?:call|code)\s|functools(?=\[))(?P<code>.+?)(?:```)?",
    re.DOTALL,
)
BARE_START = re.compile(
    r"\{\s*\"name\"\s*:|\[\s*[A-Za-z_][\w.]*\(|```tool_|functools\[|(?:assistant)?commentary to="
)
BARE_ANSWER = "assistantfinal"
BARE_HEADS = ("```tool_", "functools[", "commentary to=", "analysis")
THINKING = re.compile(r"\s*(?:<think(?:ing)?>|\[THINK\])", re.IGNORECASE)
THOUGHT = re.compile(r"</think(?:ing)?>|\[/THINK\]", re.IGNORECASE)
LONGEST_END = 64  # characters of a mark at the end of an answer
UNDECIDED = 256  # characters after which a mark has begun or is prose
UNCLEAR = re.compile(r"\s*[\w.:-]*\s*<?\Z")  # after a frame, which may begin a call
BARE_HEAD = 16  # characters after which it is clear whether a call without marks begins


class Marks(NamedTuple):
    """The marks of all dialects; ``kinds`` and ``closings`` belong to the groups of ``opening``.

    ``heads`` are the beginnings of marks, by which a stream can wait for the rest.
    """

    opening: re.Pattern[str]
    kinds: tuple[MarkKind, ...]
    closings: tuple[re.Pattern[str] | None, ...]
    end: re.Pattern[str]
    heads: tuple[str, ...]


class MarkedBlock(NamedTuple):
    """A part of an answer between marks, or one mark; ``inner`` begins with the opening mark."""

    kind: MarkKind
    start: int
    end: int
    inner: str = ""


class AnswerParts(NamedTuple):
    """What an answer says, the blocks of its calls, and its reasoning."""

    text: str
    calls: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def load_marks() -> Marks:
    """Return the marks of all dialects, read at the first call."""
    table = orjson.loads(Path(__file__).with_name("dialects.json").read_bytes())
    rows: list[tuple[MarkKind, str, str | None]] = [
        *(("call", opening, closing) for opening, closing in table["call"].values()),
        *(("thought", opening, closing) for opening, closing in table["thought"].values()),
        *(("frame", opening, None) for opening in table["frame"]),
        *(("end", opening, None) for opening in table["end"]),
    ]
    return Marks(
        re.compile("|".join(f"({opening})" for _, opening, _ in rows), re.IGNORECASE),
        tuple(kind for kind, *_ in rows),
        tuple(re.compile(closing, re.IGNORECASE) if closing else None for *_, closing in rows),
        re.compile(f"(?:{'|'.join(table['end'])})\\Z", re.IGNORECASE),
        tuple(table["heads"]),
    )


def remove_markup(text: str, *, cut: bool = False) -> str:
    """Return the text without reasoning and tool-call markup; code and Markdown stay.

    ``cut`` says that the answer ended at a limit, so that reasoning may lack its closing tag.
    """
    if cut and THINKING.match(text) and not THOUGHT.search(text):
        return ""
    said = split_answer(text).text
    return BLANK_LINES.sub(lambda match: match["code"] or "\n\n", said).strip()


def split_answer(text: str) -> AnswerParts:
    """Split an answer into what it says, its calls and its reasoning, in linear time."""
    if "assistant" in text or "commentary to=" in text[:BARE_HEAD]:
        text = _restore_channels(text)
    if FIRST.search(text) is None:
        return AnswerParts(text)
    start = _find_unopened_thought(text)
    body = _strip_ends(text[start:])
    blocks = list(_find_blocks(body))
    kept = [block for number, block in enumerate(blocks) if _is_mark(body, blocks, number)]
    said: list[str] = []
    end = 0
    for block in kept:
        said.append(body[end : block.start])
        end = block.end
    said.append(body[end:])
    return AnswerParts(
        "".join(said),
        tuple(block.inner for block in kept if block.kind == "call"),
        (*([text[:start]] if start else []), *(b.inner for b in kept if b.kind == "thought")),
    )


def _restore_channels(text: str) -> str:
    """Return gpt-oss's text with its marks again, if it begins as such text does."""
    return BARE_CHANNEL.sub(_format_channel, text) if BARE_CHANNELS.match(text) else text


def _format_channel(found: re.Match[str]) -> str:
    name = found[1] or found[0].strip().removeprefix("assistant")
    return f"<|start|>assistant<|channel|>{name}<|message|>"


def _find_unopened_thought(text: str) -> int:
    """Return the end of reasoning whose opening tag stands in the prompt; 0 if there is none."""
    found = UNOPENED.search(text)
    if found is None:
        return 0
    before = Quotation()
    before.advance(text[: found.start()])
    marks = load_marks()
    opened = any(
        (match := marks.opening.match(text, first.start(), found.start()))
        and marks.kinds[(match.lastindex or 1) - 1] == "thought"
        for first in FIRST.finditer(text, 0, found.start())
    )
    return 0 if opened or before.is_quoted else found.end()


def _strip_ends(text: str) -> str:
    """Return the text without marks that end a turn, which count only at its end."""
    end = load_marks().end
    while (found := end.search(text := text.rstrip(), max(0, len(text) - LONGEST_END))) is not None:
        text = text[: found.start()]
    return text


def _find_blocks(text: str) -> Iterator[MarkedBlock]:
    """Yield every block or mark that is not in code, whether or not it turns out to be prose.

    Tags of reasoning begin it only where nothing was said: a template puts them nowhere else.
    """
    marks, quotation, end = load_marks(), Quotation(), 0
    missing: set[int] = set()  # marks that nothing closes, which are not looked for again
    position, said = 0, False
    while (first := FIRST.search(text, position)) is not None:
        position = first.start() + 1
        found = marks.opening.match(text, first.start())
        if found is None:
            continue
        before, end = text[end : first.start()], first.start()
        quotation.advance(before)
        said = said or bool(before.strip())
        number = (found.lastindex or 1) - 1
        prose = marks.kinds[number] == "thought" and said and not _is_special(text, end)
        if prose or quotation.is_quoted or number in missing:
            continue
        block = _read_block(text, found, marks.kinds[number], marks.closings[number])
        if block is None:
            missing.add(number)
        else:
            yield block
            position = end = block.end


def _read_block(
    text: str, found: re.Match[str], kind: MarkKind, closing: re.Pattern[str] | None
) -> MarkedBlock | None:
    """Return the block that an opening mark begins; one that nothing closes ends with the text."""
    start, begun = found.span()
    if closing is None:
        return MarkedBlock(kind, start, begun)
    closed = closing.search(text, begun)
    if closed is not None:
        inner = text[begun if kind == "thought" else start : closed.start()]
        return MarkedBlock(kind, start, closed.end(), inner)
    if kind == "thought" and text[begun : begun + 1] != "\n" and not _is_special(text, start):
        return None
    return MarkedBlock(kind, start, len(text), text[start:])


def _is_mark(text: str, blocks: list[MarkedBlock], number: int) -> bool:
    """Return whether a block is markup; a tag in a sentence is prose."""
    block = blocks[number]
    before = text[blocks[number - 1].end if number else 0 : block.start]
    last = number + 1 == len(blocks)
    after = text[block.end :] if last else text[block.end : blocks[number + 1].start]
    begins = not before.rpartition("\n")[2].strip()
    ends = not after.partition("\n")[0].strip()
    special = _is_special(text, block.start)
    if block.kind == "thought":
        return True
    if block.kind == "call":
        return begins or ends or special
    joined = (number and not before.strip() and blocks[number - 1].kind in ("call", "thought")) or (
        not last and not after.strip() and blocks[number + 1].kind in ("call", "thought")
    )
    edge = special and (not before.strip() or not after.strip() or block.kind == "frame")
    alone = len(blocks) == 1 and not before.strip() and not after.strip()
    return bool(joined or edge or alone)


def _is_special(text: str, start: int) -> bool:
    """Return whether a mark is written as a token of its own, which no prose contains."""
    return text.startswith(("<|", "<\uff5c", "]<]"), start)


class VisibleAnswer:
    """Shows an answer while it streams, without its markup and what may become markup.

    It may hide more than `remove_markup`, which sees the whole answer.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._at = 0  # the position up to which is decided what is shown
        self._shown = ""
        self._closing: re.Pattern[str] | None = None
        self._quotation = Quotation()
        self._unread: list[str] = []  # shown, but not given to the quotation
        self._line = 0  # the length of what was shown before the last mark

    def follow(self, text: str) -> None:
        """Show what is certain of an answer; ``text`` is all of it so far."""
        if self._at <= 0 or len(text) < self._at:  # nothing is decided, or another try
            self._begin_answer()
            self._at = _find_bare_answer(text)
        before = self._shown
        while self._at >= 0 and self._advance(text):
            pass
        if self._shown != before and self._shown.strip():
            self._show(self._shown.lstrip())

    def _advance(self, text: str) -> bool:
        """Decide about the text up to the next mark; return whether more can be decided."""
        if self._closing is not None:
            closed = self._closing.search(text, self._at)
            if closed is None:
                self._at = max(self._at, len(text) - LONGEST_END)
                return False
            self._at, self._closing = closed.end(), None
        first = FIRST.search(text, self._at)
        self._add(text[self._at : first.start() if first else len(text)])
        return first is not None and self._pass_mark(text)

    def _pass_mark(self, text: str) -> bool:
        """Pass what may be a mark; return whether it is known what it is."""
        unopened = UNOPENED.match(text, self._at)
        marks = load_marks()
        found = unopened or marks.opening.match(text, self._at)
        number = 0 if found is None or unopened else (found.lastindex or 1) - 1
        kind: MarkKind = "call" if unopened else marks.kinds[number]
        if len(text) - self._at < UNDECIDED and (
            _may_be_head(text[self._at :]) if found is None else _is_unclear(text, found, kind)
        ):
            return False
        self._quotation.advance("".join(self._unread))
        self._unread = []
        if found is None or self._quotation.is_quoted or self._is_prose(text, found, kind):
            self._add(text[self._at])
            return True
        if unopened:
            self._shown = ""
        self._at, self._line = found.end(), len(self._shown)
        self._closing = None if unopened else marks.closings[number]
        return True

    def _is_prose(self, text: str, found: re.Match[str], kind: MarkKind) -> bool:
        """Return whether a mark may be a tag in a sentence; the whole answer decides otherwise."""
        if kind == "call" or (kind != "end" and _is_special(text, self._at)):
            return False
        if kind == "thought":
            return bool(self._shown.strip())
        said = self._shown[self._line :].rpartition("\n")[2].strip()
        follows = text[found.end() : found.end() + UNDECIDED].lstrip().startswith(("<", "["))
        return bool(said) and not follows

    def _add(self, text: str) -> None:
        self._at += len(text)
        self._shown += text
        self._unread.append(text)


def _is_unclear(text: str, found: re.Match[str], kind: MarkKind) -> bool:
    """Return whether more text may show that a mark is another one."""
    if kind in ("frame", "end"):
        return UNCLEAR.match(text, found.end()) is not None
    return found.end() == len(text)


def _may_be_head(rest: str) -> bool:
    """Return whether a text begins like a mark, or may after more characters."""
    heads = load_marks().heads
    return rest.startswith(heads) or any(head.startswith(rest) for head in heads)


def _find_bare_answer(text: str) -> int:
    """Return where the words for people begin; -1 if an answer so far may have none.

    It may be a call without marks, or gpt-oss's reasoning that has lost its own.
    """
    start = text.lstrip()
    if start.startswith("analysis") and start[len("analysis") :][:1].isupper():
        end = text.find(BARE_ANSWER)
        return end if end < 0 else end + len(BARE_ANSWER)
    begins = start.startswith(("{", "[")) and len(start) < BARE_HEAD
    waits = begins or any(head.startswith(start) for head in BARE_HEADS)
    return -1 if waits or BARE_START.match(start) else 0
