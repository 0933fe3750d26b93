"""An edit of one prompt is told from every other edit of agents.json."""

import json
from pathlib import Path

import pytest

from orchestrator.agentsfile import load_agents_file, parse_agents_file
from orchestrator.agentsfile.prompt_edit import find_prompt_edit

FIRST = '{"agentId": "a", "llmProvider": "demo", "maxSteps": 1, "systemPrompt": "Be kind."}'
TEXT = f"""{{"agents": [
  {FIRST},
  {{"agentId": "b", "llmProvider": "demo", "env": {{"X": "${{X}}"}}}}
]}}"""


def write(path: Path, text: str) -> Path:
    """The file with this text."""
    path.write_text(text, "utf-8")
    return path


def test_edit_of_a_prompt_gives_what_the_whole_file_gives(tmp_path: Path) -> None:
    """The rest is as it was loaded, variables and warnings with their lines included."""
    text = TEXT.replace("Be kind.", "Be brief.")
    before = parse_agents_file(TEXT.encode(), environ={"X": "filled"})
    found = find_prompt_edit(before, write(tmp_path / "agents.json", text))
    assert found is not None
    assert (found.agent_id, found.prompt) == ("a", "Be brief.")
    whole = load_agents_file(tmp_path / "agents.json", {"X": "filled"})
    assert found.loaded.file.model_dump() == whole.file.model_dump()
    assert found.loaded.file.find_agent("a") == whole.file.find_agent("a")
    assert found.loaded.problems == whole.problems
    assert found.loaded.data == whole.data
    assert found.loaded.find_line("b", "env") == whole.find_line("b", "env") == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Be kind.", ""),
        ('"Be kind."', "null"),
        (', "systemPrompt": "Be kind."', ""),
        ("Be kind.", "Be kind."),
        ('1, "systemPrompt": "Be kind."', '2, "systemPrompt": "Be brief."'),
        ('1, "systemPrompt": "Be kind."', 'true, "systemPrompt": "Be brief."'),
        ('"Be kind."', '"Be brief.", "systemPrompt": "Be both."'),
        ('"Be kind."', '"Be brief.", "tools": 1'),
        ('"Be kind."', '\n"Be brief."'),
        ('"agentId": "a"', '"agentId": "c"'),
        ("]", "] "),
        ("]", ""),
    ],
)
def test_any_other_edit_is_not_one_of_a_prompt(tmp_path: Path, old: str, new: str) -> None:
    """Also what only Python takes for equal, and a prompt that comes or goes."""
    before = parse_agents_file(TEXT.encode(), environ={"X": "filled"})
    path = write(tmp_path / "agents.json", TEXT.replace(old, new, 1))
    assert find_prompt_edit(before, path) is None


def test_provider_that_is_chosen_by_what_runs_is_looked_for_again(tmp_path: Path) -> None:
    """With "auto", a prompt's edit may be the one after a model server was started."""
    agent = {"agentId": "a", "llmProvider": "auto", "model": "m", "systemPrompt": "Be kind."}
    before = parse_agents_file(json.dumps({"agents": [agent]}).encode())
    agent["systemPrompt"] = "Be brief."
    path = write(tmp_path / "agents.json", json.dumps({"agents": [agent]}))
    assert find_prompt_edit(before, path) is None


def test_file_that_cannot_be_read_is_not_an_edit_of_a_prompt(tmp_path: Path) -> None:
    """Whoever reads it whole says why."""
    before = parse_agents_file(TEXT.encode(), environ={"X": "filled"})
    assert find_prompt_edit(before, tmp_path / "agents.json") is None
