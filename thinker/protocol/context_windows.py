"""How many tokens a model reads at once, where that is known from, and where servers say it."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, urlsplit

import orjson

from thinker.protocol.messages import Frozen

FILE = Path(__file__).with_name("window_probes.json")
ASSUMED, ASSUMED_LOCAL = 32_768, 4096  # tokens, where nothing tells them
SMALL = 8192  # tokens up to which a window is planned with care
WINDOW = "window"  # notification ContextWindow, from a worker to the supervisor
WindowSource: TypeAlias = Literal["setting", "server", "refusal", "table", "assumed"]
SOURCES: dict[WindowSource, str] = {
    "setting": "contextTokens",
    "server": "its server",
    "refusal": "a refusal",
    "table": "the built-in table",
    "assumed": "assumed",
}


class ContextWindow(Frozen):
    """The tokens that a model reads at once; ``server`` is what told it, if it is known so."""

    model: str
    tokens: int
    source: WindowSource
    server: str = ""

    @property
    def text(self) -> str:
        """The window for people: "4,096 (its server: llama.cpp)"."""
        server = f": {self.server}" if self.server else ""
        return f"{self.tokens:,} ({SOURCES[self.source]}{server})"


class WindowProbe(NamedTuple):
    """One address that may tell a window: ``url``, and how to read the answer."""

    url: str
    facts: dict[str, Any]

    @property
    def method(self) -> Literal["GET", "POST"]:
        return "POST" if self.facts.get("post") else "GET"

    def read_tokens(self, answer: bytes, model: str) -> int | None:
        """Return the window of a model in an answer; None if the answer does not tell it."""
        try:
            found = orjson.loads(answer)
        except ValueError:
            return None
        if (name := self.facts.get("list")) is not None:
            entries = found.get(name) if isinstance(found, dict) else None
            found = _find_entry(entries, self.facts["names"], model)
        numbers = (_follow(found, path) for path in self.facts["tokens"])
        tokens = next((n for n in numbers if isinstance(n, int) and n > 0), None)
        if tokens is None and (text := self.facts.get("text")):
            told = re.search(text[1], str(_follow(found, text[0])))
            tokens = int(told[1]) if told else None
        return tokens


@cache
def _load_probes() -> list[dict[str, Any]]:
    probes: list[dict[str, Any]] = orjson.loads(FILE.read_bytes())["probes"]
    return probes


def list_window_probes(base_url: str, model: str, *, local: bool) -> Iterator[WindowProbe]:
    """Yield where the server at this address may tell the window of a model."""
    parts = urlsplit(base_url)
    for facts in _load_probes():
        if local or not facts.get("local"):
            start = "" if facts.get("root") else parts.path.rstrip("/")
            path = facts["path"].format(model=quote(model, safe=""))
            yield WindowProbe(f"{parts.scheme}://{parts.netloc}{start}{path}", facts)


def _find_entry(entries: object, names: list[str], model: str) -> object:
    """Return the entry of a model in a list; the only entry belongs to it in any case."""
    if not isinstance(entries, list):
        return None
    wanted = model.removesuffix(":latest")
    for entry in entries:
        known = entry if isinstance(entry, dict) else {}
        if any(str(known.get(name, "")).removesuffix(":latest") == wanted for name in names):
            return entry
    return entries[0] if len(entries) == 1 else None


def _follow(value: object, path: str) -> object:
    for key in path.split("."):
        if isinstance(value, list):
            value = value[0] if value else None
        value = value.get(key) if isinstance(value, dict) else None
    return value
