"""What the trials of Python clients share: where to ask, what with, and telling what works."""

import json
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

BASE = os.environ["TRIAL_URL"]  # with /v1, as OpenAI's clients take it
LOSSY = os.environ["TRIAL_LOSSY_URL"]  # the same, where the first answer to each key is lost
TOKEN = os.environ["TRIAL_TOKEN"]
COMMAND = json.loads(os.environ["TRIAL_COMMAND"])  # that speaks MCP to who starts it
HOME = Path(os.environ["TRIAL_HOME"])  # a folder for this trial alone, with the files below
PICTURE = HOME / "dot.png"
PDF = HOME / "menu.pdf"
AGENT = "work"
OFFERED = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TEXTS = ["a", "bb"]
VECTORS = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]  # theirs
KEY = "Idempotency-Key"


def origin(url: str) -> str:
    """Return an address as Anthropic's clients take it."""
    return url.removesuffix("/v1")


def encode_file(file: Path) -> str:
    """Return a file in base64."""
    return b64encode(file.read_bytes()).decode()


def same(found: object, wanted: object) -> None:
    """Complain unless the two are equal.

    Raises:
        ValueError: they differ.
    """
    if found != wanted:
        raise ValueError(f"{found!r}, not {wanted!r}")


def holds(text: object, part: str) -> None:
    """Complain unless a text has a part.

    Raises:
        ValueError: it has not.
    """
    if part not in str(text):
        raise ValueError(f"{text!r} without {part!r}")


def catch_error(kind: type[BaseException], ask: Callable[[], object]) -> BaseException:
    """Return the exception of this kind that a call raises.

    Raises:
        ValueError: it raises another one, or none.
    """
    try:
        answer = ask()
    except kind as error:
        return error
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}, not {kind.__name__}") from error
    raise ValueError(f"{answer!r}, not {kind.__name__}")


def report(package: str, checks: Mapping[str, Callable[[], None]], client: str = "") -> None:
    """Run the checks at the same time, and print a line of JSON for each."""
    with ThreadPoolExecutor(len(checks)) as pool:
        reasons = pool.map(reason, checks.values())
    for what, why in zip(checks, reasons, strict=True):
        line = {"client": client or package, "version": version(package), "what": what, "no": why}
        print(json.dumps(line))
    sys.stdout.flush()


def reason(check: Callable[[], None]) -> str | None:
    """Return why a check fails; None when it passes."""
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever a client raises is what is told
        return f"{type(error).__name__}: {error}"[:400]
    return None
