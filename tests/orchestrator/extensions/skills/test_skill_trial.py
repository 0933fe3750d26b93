"""Which skills a message would bring into the prompt, while one is edited."""

from pathlib import Path

from orchestrator.extensions.skills.skill_trial import SkillTrial, try_skill

SKILL = """---
name: {name}
description: Helps.
metadata:
  keywords: [{keywords}]
  priority: {priority}
---
Do it.
"""


def write_skill(folder: Path, name: str, keywords: str, priority: int = 0) -> str:
    """A skill in a folder, and its text."""
    text = SKILL.format(name=name, keywords=keywords, priority=priority)
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(text)
    return text


def test_message_matches_by_whole_words_in_order_of_priority(tmp_path: Path) -> None:
    """The edited text counts, not the one in the file."""
    write_skill(tmp_path, "note", "evening")
    write_skill(tmp_path, "first", "good morning", 5)
    edited = SKILL.format(name="note", keywords="morning, tea", priority=0)
    found = try_skill([tmp_path], SkillTrial(name="note", text=edited, message="Good morning!"))
    assert [(one.name, one.keywords, one.own) for one in found.matches] == [
        ("first", ("good morning",), False),
        ("note", ("morning",), True),
    ]
    other = try_skill([tmp_path], SkillTrial(name="note", text=edited, message="mornings"))
    assert other.matches == ()


def test_text_that_is_no_skill_says_why(tmp_path: Path) -> None:
    """As the check of the editor does."""
    found = try_skill([tmp_path], SkillTrial(name="note", text="no front matter", message="a"))
    assert found.problem
