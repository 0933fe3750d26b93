"""The areas of layered_prompt.json, checked as its header describes."""

import hashlib
import json
import re
from collections import Counter
from typing import Any

from vector_runner.cases import Area

from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.render.layered import LayeredPrompt, layered_prompt, read_text_and_key

CELL = re.compile(r"(?<!\\)\|")


def _built(given: Any) -> LayeredPrompt:
    """Build the prompt of a case; ``{"$set": […]}`` is a Python set."""
    return layered_prompt(
        **{name: _with_sets(value) for name, value in {"identity": None, **given}.items()}
    )


def _with_sets(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$set"}:
            return set(value["$set"])
        return {key: _with_sets(item) for key, item in value.items()}
    return [_with_sets(item) for item in value] if isinstance(value, list) else value


def _seen(given: Any) -> dict[str, Any]:
    """Return the text and key of a prompt, or its error."""
    try:
        prompt = _built(given)
    except (DefinitionError, TypeError) as error:  # the latter is Python's, of an unknown section
        return {"error": str(error)}
    return {"text": prompt.text, "cache_key": prompt.cache_key}


def _merged(given: Any) -> dict[str, Any]:
    return {"text": _built(given["prompt"]).with_tools(given["runtime_tools"]).text}


def _compared(given: Any) -> dict[str, Any]:
    same = _built(given["a"]).cache_key == _built(given["b"]).cache_key
    return {"relation": "equal" if same else "different"}


def _agent(given: Any) -> dict[str, Any]:
    prompt = given["prompt"]
    layered = isinstance(prompt, dict) and "$layered" in prompt
    try:
        text, key = read_text_and_key(_built(prompt["$layered"]) if layered else prompt)
    except TypeError as error:
        return {"error": str(error)}
    return {"system_prompt": text, "prompt_cache_key": key}


def _same(expected: dict[str, Any], got: dict[str, Any]) -> bool:
    return all(_holds(key, value, got) for key, value in expected.items())


def _holds(key: str, value: Any, got: dict[str, Any]) -> bool:
    """Return whether one statement of a case is true."""
    if key == "error":
        told = got.get("error")
        return told is not None and value in ("$any", told, "TypeError", f'TypeError("{told}")')
    if isinstance(value, str) and value.startswith("$sha256("):
        hashed: str = got[value[len("$sha256(") : -1]]
        return bool(got[key] == hashlib.sha256(hashed.encode()).hexdigest())
    if key in got:
        return bool(got[key] == value)
    return _true_of(key, value, got["text"])


def _true_of(key: str, value: Any, text: str) -> bool:
    if key in ("contains", "not_contains"):
        return all((part in text) == (key == "contains") for part in value)
    sections = _sections(text)
    if key == "headings":
        return [f"# {title}" for title in sections] == list(value)
    if key == "section":
        return all(sections[title] == body for title, body in value.items())
    if key == "json_section":
        return all(json.loads(sections[title]) == body for title, body in value.items())
    if key == "keys_sorted":
        structured = [body for body in sections.values() if body[:1] in ("{", "[")]
        return all(_canonical(body) == body for body in structured)
    rows = _rows(sections.get("Tools", ""))
    counted = {"tool_rows": rows, "tool_row_count": dict(Counter(row[0] for row in rows))}
    return bool(counted[key] == value)


def _sections(text: str) -> dict[str, str]:
    _, *parts = re.split(r"^# (.+)\n", text, flags=re.MULTILINE)
    return {
        title: body.removesuffix("\n\n")
        for title, body in zip(parts[::2], parts[1::2], strict=True)
    }


def _canonical(body: str) -> str:
    return json.dumps(json.loads(body), ensure_ascii=False, indent=2, sort_keys=True)


def _rows(table: str) -> list[list[str]]:
    """Return the cells in the data rows of a Markdown table."""
    rows = [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in table.splitlines()]
    return rows[2:]


PROMPT = Area(_seen, same=_same)
AREAS = {
    **dict.fromkeys(("exact", "headings", "section_body", "tools", "errors"), PROMPT),
    "tools_merge": Area(_merged, same=_same),
    "cache_key": Area(_compared),
    "agent_prompt": Area(_agent, same=_same),
}
