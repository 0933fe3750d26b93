"""Which gated agents an edit concerns, and what its trial changes."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import parsed
from fakes.definition_files import library, write

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.editing import FileEdit
from orchestrator.control.trials import TrialChange
from orchestrator.extensions.workbench.edit_changes import list_gated_changes
from orchestrator.prompts.prompt_set import PromptSet

GATE = {"set": "daily", "atMost": 0.05}
WORK = {"agentId": "work", "llmProvider": "groq", "model": "m", "prompt": "p", "gate": GATE}
HOME = {"agentId": "home", "llmProvider": "groq", "model": "m", "skills": ["home-*"], "gate": GATE}
FREE = {"agentId": "free", "llmProvider": "groq", "model": "m"}


def concerned(
    name: str, text: str | None = "New.", prompts: PromptSet | None = None
) -> dict[str, TrialChange]:
    """What an edit changes of the agents `work`, `home` and `free`."""
    edit = FileEdit(name=name, base="", text=text)
    return list_gated_changes(edit, agents(), prompts or PromptSet(), {})


def agents(**changes: Any) -> AgentsFile:
    """The file in force; ``changes`` are of `work`."""
    return parsed({**WORK, **changes}, HOME, FREE).file


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("skills/home-note/SKILL.md", {"work", "home"}),
        ("skills/note/SKILL.md", {"work"}),
        ("personas/home/instructions.md", {"home"}),
        ("personas/free/instructions.md", set()),
        ("prompts/p.md", {"work"}),
        ("prompts/other.md", set()),
        ("tasks/7", set()),
    ],
)
def test_edit_concerns_agents_that_use_the_text(name: str, ids: set[str]) -> None:
    """By their globs of skills, their prompt and their own folder; only with a gate."""
    found = concerned(name)
    assert found.keys() == ids
    assert all(change == TrialChange(files={name: "New."}) for change in found.values())


def test_prompt_that_another_one_includes_concerns_its_agents(tmp_path: Path) -> None:
    """However deep it is included; a removed text is an empty one."""
    write(tmp_path, "shared")
    write(tmp_path, "p", prompt=[{"type": "include", "prompt": "shared"}])
    prompts = library(tmp_path, agents()).current_set
    assert concerned("prompts/shared.json", None, prompts) == {
        "work": TrialChange(files={"prompts/shared.json": ""})
    }


@pytest.mark.parametrize(
    ("changed", "change"),
    [
        ({"temperature": 0.1}, TrialChange(temperature=0.1)),
        ({"effort": "low"}, TrialChange(effort="low")),
        ({"model": "n"}, TrialChange(model="groq/n")),
        ({"systemPrompt": "Be kind."}, TrialChange(files={"agents.json": ""})),
        ({"idleTimeoutMinutes": 3}, None),
        ({"enabled": False}, None),
        ({"gate": None}, None),
    ],
)
def test_edit_of_agents_json_is_tried_by_what_answers_depend_on(
    changed: dict[str, Any], change: TrialChange | None
) -> None:
    """Of an agent that changes; the others are not tried."""
    text = json.dumps({"agents": [{**WORK, **changed}, HOME, FREE]})
    if change is not None and change.files:
        change = TrialChange(files={"agents.json": text})
    assert concerned("agents.json", text) == ({} if change is None else {"work": change})
    assert concerned("agents.json", "{") == {}
