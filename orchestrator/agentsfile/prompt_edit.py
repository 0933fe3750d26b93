"""Detect an edit of agents.json that changes only the text of one agent's prompt.

That is the most frequent edit. Nothing else depends on the text, so the rest of the
file is neither validated nor applied again.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orchestrator.agentsfile.loading import LoadedConfig
from orchestrator.agentsfile.positions import Document, JsonSyntaxError, parse_json_document
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError
from thinker.protocol.messages import JsonObject

FIELD = "systemPrompt"
_PROMPT = re.compile(rf'"{FIELD}"\s*:\s*"(?:[^"\\]|\\.)*"')


class PromptEdit(NamedTuple):
    """The edited file, and the agent with its new prompt text."""

    loaded: LoadedConfig
    agent_id: str
    prompt: str


def find_prompt_edit(before: LoadedConfig, path: Path) -> PromptEdit | None:
    """Return the edit of the file at ``path``; None if more than a prompt may have changed."""
    try:
        data = regular_file.read_bytes(path, regular_file.AGENTS_FILE)
        text = data.decode("utf-8-sig")
        if not _may_be_prompt(before.document.text, text):
            return None
        document = parse_json_document(text)
    except (FileError, UnicodeDecodeError, JsonSyntaxError):
        return None
    if document.repeated or not _is_one_line_changed(before.document.text, document.text):
        return None
    place = _find_changed_agent(parse_json_document(before.document.text), document)
    agent = None if place is None else before.file.find_agent(str(place.get("agentId")))
    if place is None or agent is None:
        return None
    # "auto" chooses a provider by what runs on this machine, which may have changed.
    if not agent.system_prompt or agent.llm_provider == "auto":
        return None
    prompt = str(place[FIELD])
    file = before.file.replace_agent(agent.model_copy(update={"system_prompt": prompt}))
    loaded = replace(before, file=file, data=data, document=document)
    return PromptEdit(loaded, agent.agent_id, prompt)


def _may_be_prompt(old: str, new: str) -> bool:
    """Return whether the first difference may be in the text of a prompt, without parsing both."""
    same, most = 0, min(len(old), len(new))
    while same < most:  # the longest common beginning, by halves
        middle = (same + most + 1) // 2
        same, most = (middle, most) if old[same:middle] == new[same:middle] else (same, middle - 1)
    name = old.rfind(f'"{FIELD}"', 0, same)
    if name < 0:
        return False
    found = _PROMPT.match(old, name)
    return found is not None and found.end() >= same


def _is_one_line_changed(old: str, new: str) -> bool:
    """Return whether two strings differ in one line only: no line moves."""
    before, after = old.split("\n"), new.split("\n")
    changed = [number for number, line in enumerate(after) if before[number : number + 1] != [line]]
    return len(before) == len(after) and len(changed) == 1


def _find_changed_agent(old: Document, new: Document) -> JsonObject | None:
    """Return the agent whose prompt changed, if nothing else did."""
    before, after = _list_agents(old), _list_agents(new)
    changed = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    if len(changed) != 1 or not isinstance(changed[0][1].get(FIELD), str):
        return None
    was, now = changed[0]
    then, now[FIELD] = now[FIELD], was.get(FIELD)
    # Compared as text: in Python, 1 and True are equal.
    same = json.dumps(old.value) == json.dumps(new.value)
    now[FIELD] = then
    return now if same and then else None


def _list_agents(document: Document) -> list[JsonObject]:
    value = document.value
    agents = value.get("agents") if isinstance(value, dict) else None
    return [item for item in agents if isinstance(item, dict)] if isinstance(agents, list) else []
