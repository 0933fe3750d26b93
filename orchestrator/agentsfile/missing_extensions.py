"""Explain that a part of agents.json needs a bundled extension that is not installed."""

import json
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from orchestrator import extras, installed

TABLE = Path(__file__).with_name("brought_names.json")  # written by scripts/schema


Place: TypeAlias = Literal["file", "agents", "channels", "extensions"]


def explain_entry_extension(place: Place, name: str) -> str:
    """Return which missing extension provides an entry and how to install it, or an empty string.

    The ``place`` is ``file`` for fields of the whole file, ``agents`` for fields of each agent.
    """
    shipped = installed.list_shipped()
    extension = _load_table().get(place, {}).get(name)
    if place == "extensions" or (place == "channels" and shipped.get(name)):
        extension = name if name in shipped else None
    if extension is None or extension in installed.list_names():
        return ""
    return f"needs {extras.explain_missing_extension(extension)}"


def list_reserved_channels() -> frozenset[str]:
    """Return the names of the bundled channels, which no other channel may take."""
    return frozenset(("console", *_load_table()["channels"]))


@cache
def _load_table() -> dict[str, dict[str, str]]:
    """Load the names of bundled extensions, keyed by place and by the entry that they add."""
    found: dict[str, dict[str, str]] = json.loads(TABLE.read_bytes())
    return found
