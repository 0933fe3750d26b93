"""The museum of providers: what they sent and refused, one file a case, and how it is read.

The format is described in tests/providers/README.md.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any  # JSON of a provider or of a case
Condition: TypeAlias = dict[str, Json]
SECTION = re.compile(r"^=== ", re.MULTILINE)
STEP = re.compile(r"([\w$-]+)|\[(?:([\w-]+)(?:=([^\]]*))?)?\]")
ENDS = {"lf": "\n", "cr": "\r", "crlf": "\r\n"}


@dataclass(frozen=True)
class Exhibit:
    """One response of a provider, and the requests which get it.

    ``when`` must hold for a request; a response without it is used once, the last one for ever.
    """

    method: str
    path: str
    status: int
    kind: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    when: tuple[Condition, ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class Say:
    """One message of the person, and the model which reads it."""

    text: str
    settings: dict[str, Json]


@dataclass(frozen=True)
class Case:
    """One file: a conversation, the provider's responses and what must come of it."""

    name: str
    says: tuple[Say, ...]
    tools: tuple[Json, ...]
    expect: dict[str, Json]
    exhibits: tuple[Exhibit, ...]

    @property
    def streams(self) -> bool:
        """Whether any response is a stream, whose pieces may be cut anywhere."""
        return any("event-stream" in one.kind or "ndjson" in one.kind for one in self.exhibits)

    @property
    def resumes(self) -> bool:
        """Whether a process can end between two steps of this conversation."""
        return bool(self.tools) and len(self.exhibits) > 1


def load_cases(folder: Path) -> list[Case]:
    """Load all cases of a folder of providers, in order."""
    return [load_case(path) for path in sorted(folder.glob("*/*.txt"))]


def load_case(path: Path) -> Case:
    """Load one case; the error of a bad one names the file."""
    head, *sections = SECTION.split(path.read_text("utf-8"))
    fields = list(_read_fields(head.splitlines(), path))
    known = dict(fields)
    assert "source" in known, f"{path}: a case names its source"
    base = {"llm_provider": known["provider"], "model": known["model"], **known.get("settings", {})}
    says = tuple(_read_message(value, base) for key, value in fields if key == "say")
    return Case(
        name=f"{path.parent.name}/{path.stem}",
        says=says,
        tools=tuple(known.get("tools", ())),
        expect=known.get("expect", {}),
        exhibits=tuple(_read_exhibit(section, path) for section in sections),
    )


def _read_fields(lines: list[str], path: Path) -> Iterator[tuple[str, Json]]:
    for line in lines:
        if line.strip() and not line.startswith("#"):
            key, colon, value = line.partition(":")
            assert colon, f"{path}: not a field: {line!r}"
            text = value.strip()
            yield key.strip(), json.loads(text) if text[:1] in tuple('{["') else text


def _read_message(value: Json, base: dict[str, Json]) -> Say:
    given = dict(value) if isinstance(value, dict) else {"text": value}
    text = str(given.pop("text")) * int(given.pop("times", 1))
    return Say(text, base | given)


def _read_exhibit(section: str, path: Path) -> Exhibit:
    head, _, body = section.partition("\n\n")
    line, *rest = head.splitlines()
    words = line.split()
    method, where = ("POST", "") if words[0].isdigit() else (words.pop(0), words.pop(0))
    fields = list(_read_fields(rest, path))
    options = {key: value for key, value in fields if key in ("lines", "cut", "bom")}
    data = body.replace("\n", ENDS[options.get("lines", "lf")]).encode()
    return Exhibit(
        method=method,
        path=where,
        status=int(words[0]),
        kind=words[1] if len(words) > 1 else "application/json",
        body=b"\xef\xbb\xbf" * ("bom" in options) + data,
        headers={key: str(value) for key, value in fields if key not in ("when", *options)},
        when=tuple(value for key, value in fields if key == "when"),
        cut="cut" in options,
    )


def find_values(value: Json, path: str) -> list[Json]:
    """Find what a path leads to: ``messages[role=assistant].tool_calls[].id``.

    ``[]`` goes through a list, ``[key]`` through its items that have the key, ``[key=word]``
    through those where it has this value.
    """
    found = [value]
    for name, key, word in STEP.findall(path):
        if name:
            found = [one[name] for one in found if isinstance(one, dict) and name in one]
        else:
            items = [item for one in found if isinstance(one, list) for item in one]
            found = [item for item in items if _matches(item, key, word)]
    return found


def _matches(item: Json, key: str, word: str) -> bool:
    if not key:
        return True
    if not isinstance(item, dict) or not item.get(key):
        return False
    return not word or str(item[key]) == word


def holds(condition: Condition, path: str, headers: dict[str, str], data: bytes) -> bool:
    """Say whether a condition holds for a request."""
    checks = dict(condition)
    body = json.loads(data) if data else {}
    wanted = not checks.pop("not", False)
    return wanted == all(_holds(key, checks, path, headers, body) for key in checks)


def _holds(key: str, checks: Condition, path: str, headers: dict[str, str], body: Json) -> bool:
    value, verdict = checks[key], False
    text = json.dumps(body, ensure_ascii=False)
    match key:
        case "longer":
            verdict = len(text) > int(value)
        case "text":
            verdict = value in text
        case "path":
            verdict = path.endswith(value)
        case "header":
            verdict = value in headers
        case "some":
            verdict = bool(_narrow(find_values(body, value), checks))
        case "none":
            verdict = not find_values(body, value)
        case "has" | "lacks" | "equals":
            verdict = "some" in checks
        case _:
            raise AssertionError(f"unknown condition {key!r}")
    return verdict


def _narrow(found: list[Json], checks: Condition) -> list[Json]:
    if "has" in checks:
        found = [one for one in found if isinstance(one, dict) and checks["has"] in one]
    if "lacks" in checks:
        found = [one for one in found if isinstance(one, dict) and checks["lacks"] not in one]
    if "equals" in checks:
        found = [one for one in found if one == checks["equals"]]
    return found
