"""The skills of an agent and their live reload."""

import time
from collections.abc import Sequence
from pathlib import Path

from fakes.call_count import call_count

from thinker.formats import regular_file, skill_file
from thinker.formats.own_files import OwnFiles
from thinker.formats.skill_file import scan_skills
from thinker.playbooks import merge_playbooks
from thinker.skills import SkillCatalog

BUNDLED = Path(__file__).parents[2] / "skills"


class Reloaded(SkillCatalog):
    """A catalog that is read whenever its files changed, as in a turn."""

    def __init__(self, directories: Sequence[Path], globs: Sequence[str] = ("*",)) -> None:
        super().__init__(directories, globs)
        self._files = OwnFiles(directories)

    def refresh(self) -> bool:
        """Return whether it was read."""
        changed = self._files.detect_changes()
        if changed:
            self.read(self._files)
        return changed


def write(root: Path, name: str, keywords: str = "", body: str = "Do it.") -> Path:
    """Write a skill and return its file."""
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = f"metadata:\n  keywords: [{keywords}]\n" if keywords else ""
    path.write_text(f"---\nname: {name}\ndescription: d\n{metadata}---\n{body}\n", "utf-8")
    return path


def test_skills_are_split_by_keywords_and_filtered_by_globs(tmp_path: Path) -> None:
    """With keywords: playbooks; without: listed; not matched by a glob: not there."""
    write(tmp_path, "mail-triage", "mail")
    write(tmp_path, "mail-rules")
    write(tmp_path, "secret-plan")
    catalog = Reloaded((tmp_path,), ("mail-*",))
    assert catalog.refresh()
    assert [skill.name for skill in catalog.playbooks] == ["mail-triage"]
    assert [skill.name for skill in catalog.listed] == ["mail-rules"]


def test_unchanged_directories_are_not_read_again(tmp_path: Path) -> None:
    """An unchanged turn costs a few stat calls."""
    write(tmp_path, "a")
    catalog = Reloaded((tmp_path, tmp_path / "missing"))
    assert catalog.refresh()
    listed = catalog.listed
    assert not catalog.refresh()
    assert catalog.listed is listed


def test_edited_added_and_removed_skills_show_at_the_next_refresh(tmp_path: Path) -> None:
    """Every kind of change is live."""
    path = write(tmp_path, "a")
    catalog = Reloaded((tmp_path,))
    catalog.refresh()
    write(tmp_path, "a", body="Do it differently.")
    assert catalog.refresh()
    assert catalog.listed[0].instructions == "Do it differently."
    write(tmp_path, "b")
    assert catalog.refresh()
    assert [skill.name for skill in catalog.listed] == ["a", "b"]
    path.unlink()
    assert catalog.refresh()
    assert [skill.name for skill in catalog.listed] == ["b"]


def test_directory_that_appears_later_is_found(tmp_path: Path) -> None:
    """A home without a skills directory gets one while the agent runs."""
    catalog = Reloaded((tmp_path / "skills",))
    catalog.refresh()
    write(tmp_path / "skills", "a")
    assert catalog.refresh()
    assert [skill.name for skill in catalog.listed] == ["a"]


def test_broken_skill_is_reported_and_the_others_stay(tmp_path: Path) -> None:
    """One bad file affects no other, and its correction is live too."""
    path = write(tmp_path, "a")
    write(tmp_path, "b")
    path.write_text("no front matter", "utf-8")
    catalog = Reloaded((tmp_path,))
    catalog.refresh()
    assert [skill.name for skill in catalog.listed] == ["b"]
    assert len(catalog.problems) == 1
    write(tmp_path, "a")
    catalog.refresh()
    assert not catalog.problems


def test_file_in_place_of_a_directory_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    """A wrong setting is reported."""
    (tmp_path / "skills").write_text("", "utf-8")
    catalog = Reloaded((tmp_path / "skills",))
    catalog.refresh()
    assert len(catalog.problems) == 1


def test_bundled_skills_are_all_usable() -> None:
    """The skills in the package follow the rules."""
    skills, problems = scan_skills((BUNDLED,))
    assert not problems
    assert {"orchestrator-guide", "daily-plan"} <= {skill.name for skill in skills}


def test_what_was_read_before_the_fork_is_not_read_again(tmp_path: Path) -> None:
    """Catalogs of one process share the parsed files."""
    path = write(tmp_path, "a")
    zygote, worker = Reloaded((tmp_path,)), Reloaded((tmp_path, tmp_path / "own"))
    zygote.refresh()
    worker.refresh()
    assert worker.listed[0] is zygote.listed[0]
    write(tmp_path, "a", body="Do it differently.")
    worker.refresh()
    assert worker.listed[0].instructions == "Do it differently."
    path.write_text("no skill", "utf-8")
    worker.refresh()
    assert worker.problems


def test_a_silent_skill_is_in_no_prompt_and_hides_one_of_its_name(tmp_path: Path) -> None:
    """Neither listed nor called up by a keyword; it can still run by schedule."""
    for name, keywords in (("plan", ""), ("tea", "metadata: {keywords: [tea]}")):
        (tmp_path / name).mkdir()
        fields = f"name: {name}\ndescription: d\ndisable-model-invocation: true\n{keywords}"
        (tmp_path / name / "SKILL.md").write_text(f"---\n{fields}\n---\nBody", "utf-8")
    catalog = Reloaded((tmp_path,))
    catalog.refresh()
    assert (catalog.listed, catalog.playbooks) == ((), ())
    assert [skill.name for skill in catalog.every] == ["plan", "tea"]
    assert merge_playbooks(catalog.every, ()) == []


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    """One edited skill among hundreds costs one reading, whoever looks."""
    for number in range(40):
        write(tmp_path, f"s{number}")
    later = time.time_ns() + 10 * regular_file.SETTLED_NS
    first, _ = skill_file.scan_skills((tmp_path,), now=later)
    write(tmp_path, "s7", body="Do it differently.")
    again, _ = skill_file.scan_skills((tmp_path,), now=later)
    assert [one.name for one, two in zip(first, again, strict=True) if one is not two] == ["s7"]
    assert (
        call_count(lambda: skill_file.scan_skills((tmp_path,), now=later)) < 40 * 200
    )  # parsing one takes thousands
