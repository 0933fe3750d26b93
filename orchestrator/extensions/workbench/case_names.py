"""Rename the chats and people of exported turns, wherever their rows name them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import orjson
from pydantic import JsonValue

from orchestrator.extensions.workbench.case_rows import CaseTables, Row
from orchestrator.extensions.workbench.matching import compute_call_digest
from thinker.protocol.messages import JsonObject

FIRST = 1_000_001  # the number of the first chat or person
MIN_ID = 5  # characters of an id that is replaced in texts as well; a shorter one may be a number
PERSONAL = re.compile(r"[\d@]")  # in such an id; others are words, such as `operator`
# Members of JSON whose values are the program's own words, whatever a person is called.
FIXED = ("origin", "role", "type", "finish", "mode")
MIN_WORD = 3  # characters of a part of a name that is replaced in texts
PLACES = (
    "chat_id",
    "bot_id",
    "sender_id",
    "chat_key",
    "scope",
)  # columns that name chats and people
JSON_COLUMNS = ("body", "args", "result", "taint", "quote", "timing", "usage", "outcome", "about")


@dataclass
class CaseNames:
    """New names for the chats and people of all turns that are exported together."""

    ids: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def note_rows(self, tables: CaseTables) -> None:
        """Give a number to each chat and person of a turn."""
        for row in tables["inbox"]:
            for column in ("chat_id", "bot_id", "sender_id"):
                self._note_id(str(row[column]))
            self._note_name(str(row["sender_name"] or ""))
        for row in (*tables["session"], *tables["turn"]):
            for part in re.split(r"[/:]", f"{row['chat_key']}/{row['scope']}"):
                if re.fullmatch(r"-?\d+", part):
                    self._note_id(part)

    def rename_text(self, text: str) -> str:
        """Return a text with the new names."""
        return self._build_rename()(text)

    def rename_rows(self, tables: CaseTables) -> CaseTables:
        """Return the rows with the new names."""
        rename = self._build_rename()
        return {
            table: [self._rename_row(row, rename) for row in rows] for table, rows in tables.items()
        }

    def _note_id(self, name: str) -> None:
        if name and name not in self.ids:
            number = f"{FIRST + len(self.ids)}"
            self.ids[name] = f"-{number}" if name.startswith("-") else number

    def _note_name(self, name: str) -> None:
        if name and name not in self.words:
            new = f"Person{len({*self.words.values()}) + 1}"
            self.words[name] = new
            for word in re.findall(r"\w+", name):
                if len(word) >= MIN_WORD:
                    self.words.setdefault(word, new)

    def _build_rename(self) -> Callable[[str], str]:
        """Return a function that renames in any text."""
        known = {name.lower(): new for name, new in self.words.items()}
        known |= {name: new for name, new in self.ids.items() if _is_personal(name)}
        known |= {f"chat_id: {name}": f"chat_id: {new}" for name, new in self.ids.items()}
        if not known:
            return str
        longest = sorted(known, key=len, reverse=True)
        pattern = re.compile(
            rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE
        )
        return lambda text: pattern.sub(lambda match: known[match[0].lower()], text)

    def _rename_row(self, row: Row, rename: Callable[[str], str]) -> Row:
        renamed: Row = {}
        for column, value in row.items():
            if not isinstance(value, str) or column == "data":
                renamed[column] = value
            elif column in PLACES:
                parts = re.split(r"([/:])", value)
                renamed[column] = "".join(self.ids.get(part, part) for part in parts)
            elif column == "sender_name":
                renamed[column] = self.words.get(value, value)
            elif column in JSON_COLUMNS:
                renamed[column] = _rename_json(value, rename)
            elif column in ("text", "error", "name"):
                renamed[column] = rename(value) if column != "name" else value
            else:
                renamed[column] = value
        if row.get("args_hash") and renamed.get("args") != row.get("args"):
            arguments: JsonObject = orjson.loads(str(renamed["args"]))
            renamed["args_hash"] = compute_call_digest(str(row["name"]), arguments)
        return renamed


def _is_personal(name: str) -> bool:
    return len(name) >= MIN_ID and PERSONAL.search(name) is not None


def _rename_json(text: str, rename: Callable[[str], str]) -> str:
    """Return JSON whose texts are renamed; the names of its members stay."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return rename(text)
    renamed = map_texts(value, rename)
    return text if renamed == value else orjson.dumps(renamed).decode()


def map_texts(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Return a JSON value with each text changed, but for the program's own words."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(one, change) for one in value]
    if isinstance(value, dict):
        return {
            name: one if name in FIXED and isinstance(one, str) else map_texts(one, change)
            for name, one in value.items()
        }
    return value


def list_texts(value: JsonValue) -> Iterable[str]:
    """Return every text in a JSON value."""
    found: list[str] = []

    def note_text(text: str) -> str:
        found.append(text)
        return text

    map_texts(value, note_text)
    return found
