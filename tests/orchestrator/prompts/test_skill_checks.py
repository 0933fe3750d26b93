"""What is told about skill files."""

from pathlib import Path

from fakes.agents_file import validate_file

from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.settings import Settings


def told(home: Path, **fields: object) -> list[str]:
    """The problems of the skills in a home with one agent."""
    agent = {"agentId": "work", "llmProvider": "demo"}
    file = validate_file({"agents": [agent], **fields})
    return [str(p) for p in check_skill_files(Settings(home=home), file)]


def write(folder: Path, fields: str, name: str = "tea") -> Path:
    """Write a skill whose fields begin in line 4."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: d\n{fields}\n---\nBoil.\n", "utf-8")
    return path


def test_bundled_skills_are_sound(tmp_path: Path) -> None:
    """A fresh home has no problem."""
    assert told(tmp_path) == []


def test_broken_skill_of_an_agents_own_folder_is_told(tmp_path: Path) -> None:
    """Like those of the home."""
    path = tmp_path / "agents" / "work" / "skills" / "tea" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: tea\n---\nBoil.\n", "utf-8")
    assert told(tmp_path) == [f"{path}:2: the field 'description' is missing; add it"]
