"""What a search shows: the found messages with those beside them, within a budget of tokens."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from orchestrator.extensions.memory.message_index import SILENCE
from orchestrator.extensions.memory.message_search import FOUND, FoundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fulltext import split_terms
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns.shown_texts import list_excerpts
from thinker.protocol.messages import Origin

TOKEN = 4  # characters, the estimate that is used for prompts as well
STEM = 5  # letters by which a word of the query is recognized in another form
BEST = 5  # found messages that are shown with two after them; the answer follows the question
MORE = "There is more: ask for more tokens, or narrow the search with after, before or who."
BREAK = "…"  # between sittings


class Shown(NamedTuple):
    """Text for a model, and the origins of the messages in it."""

    text: str
    origins: tuple[Origin, ...]


def show_found(
    db: Database,
    found: Iterable[FoundMessage],
    words: Iterable[str],
    limit: int,
    tokens: int,
    zone: ZoneInfo,
) -> Shown:
    """Return the windows around the best of found messages, in order of time.

    The text has at most so many ``tokens`` and ``limit`` windows. A found message is marked by
    ``*``; one before it is shown, and one or two after it. ``words`` of the query decide which part
    of a long message is shown.
    """
    room = TOKEN * tokens - len(MORE) - 1
    stems = frozenset(word[:STEM] for word in words)
    lines: dict[int, str] = {}
    shown: dict[int, FoundMessage] = {}
    cut = False
    windows = 0
    for hit in found:
        if hit.id not in shown:
            windows += 1
        elif windows >= limit:
            continue
        if windows > limit:
            break
        after = 2 if windows <= BEST else 1
        first, last = _list_beside(db, hit, "<", 1), _list_beside(db, hit, ">", after)
        for window in ((*first, hit, *last), (hit,)):
            new = {
                one.id: (one, format_line(one, stems, zone, found=one is hit))
                for one in window
                if one.id not in shown or one is hit
            }
            size = sum(len(line) - len(lines.get(key, "")) + 1 for key, (_, line) in new.items())
            if size + len(BREAK) + 1 <= room:
                break
        else:
            cut = True
            break
        room -= size + len(BREAK) + 1
        for key, (one, line) in new.items():
            shown[key], lines[key] = one, line
    ordered = sorted(shown.values(), key=lambda one: (one.session_id, one.id))
    text = "\n".join([*_join_windows(ordered, lines), *([MORE] if cut else [])])
    return Shown(text, tuple(one.origin for one in ordered))


def show_around(
    db: Database, memory: MemoryScope, message_id: int, count: int, zone: ZoneInfo
) -> Shown | None:
    """Return a message with those around it in its session, ``count`` in all.

    None if the memory has no such message.
    """
    where, values = memory.build_row_condition("session")
    middle = FOUND.find_first(db, f"said.id = ? AND {where}", message_id, *values)
    if middle is None:
        return None
    around = "said.session_id = ? AND said.id {} ? ORDER BY said.id {} LIMIT ?"
    place = middle.session_id, middle.id
    before = FOUND.select(db, around.format("<", "DESC"), *place, count // 2)
    after = FOUND.select(db, around.format(">", "ASC"), *place, count - 1 - len(before))
    shown = (*before[::-1], middle, *after)
    lines = [format_line(one, frozenset(), zone, found=one is middle) for one in shown]
    return Shown("\n".join(lines), tuple(one.origin for one in shown))


def format_line(
    message: FoundMessage, stems: frozenset[str], zone: ZoneInfo, *, found: bool
) -> str:
    """Return a message on one line, with when and who, and the handle that names it."""
    moment = datetime.fromtimestamp(message.at / 1000, UTC).astimezone(zone)
    parts = list_excerpts(message.text)
    best = max(range(len(parts)), key=lambda place: (_count_words(parts[place], stems), -place))
    text = f"{'…' if best else ''}{parts[best]}{'…' if best < len(parts) - 1 else ''}"
    sign = "*" if found else "-"
    return f"{sign} {moment:%Y-%m-%d %H:%M} m{message.id} {message.author}: {text}"


def _count_words(text: str, stems: frozenset[str]) -> int:
    return len({term[:STEM] for term in split_terms(text)} & stems) if stems else 0


def _list_beside(db: Database, message: FoundMessage, sign: str, count: int) -> list[FoundMessage]:
    """Return the next messages before (``<``) or after (``>``) one in its sitting, in order."""
    order = "DESC" if sign == "<" else "ASC"
    where = f"said.session_id = ? AND said.id {sign} ? ORDER BY said.id {order} LIMIT ?"
    found = []
    last = message
    for other in FOUND.select(db, where, message.session_id, message.id, count):
        if abs(other.at - last.at) > SILENCE:
            break
        found.append(last := other)
    return found[::-1] if sign == "<" else found


def _join_windows(shown: Sequence[FoundMessage], lines: Mapping[int, str]) -> list[str]:
    """Return the lines by sitting, in order of time, with a mark between sittings."""
    sittings: list[list[FoundMessage]] = []
    for message in shown:
        last = sittings[-1][-1] if sittings else None
        if last and last.session_id == message.session_id and message.at - last.at <= SILENCE:
            sittings[-1].append(message)
        else:
            sittings.append([message])
    sittings.sort(key=lambda sitting: (sitting[0].at, sitting[0].id))
    found: list[str] = []
    for sitting in sittings:
        found += [BREAK] if found else []
        found += [lines[message.id] for message in sitting]
    return found
