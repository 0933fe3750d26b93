"""What other users of the machine could change is named, with the command that closes it."""

from pathlib import Path

import pytest

from orchestrator.extensions.advice import open_files
from orchestrator.extensions.advice.extension import AdviceExtension
from orchestrator.extensions.advice.open_files import list_open_files
from orchestrator.settings import Settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that only this user can change."""
    home = tmp_path / "home"
    for folder in ("skills/tea/scripts", "hooks", "prompts", "agents/work"):
        (home / folder).mkdir(parents=True)
    for name in ("agents.json", "keys.env", "skills/tea/SKILL.md", "hooks/h.py", "prompts/p.yaml"):
        (home / name).write_text("{}", "utf-8")
        (home / name).chmod(0o644)
    for path in (home, *home.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    return home


def told(home: Path) -> dict[str, str]:
    """The sentences about the home, by place."""
    found = list_open_files(Settings(home=home))
    return {
        str(path.relative_to(home.parent)): text
        for path, text in found
        if path.is_relative_to(home.parent)
    }


def test_home_that_only_its_user_changes_is_not_named(home: Path) -> None:
    """Others may read files without secrets."""
    assert told(home) == {}


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        (".", "home"),
        ("agents.json", "home/agents.json"),
        ("keys.env", "home/keys.env"),
        ("hooks", "home/hooks"),
        ("hooks/h.py", "home/hooks"),
        ("skills/tea/scripts", "home/skills"),
        ("skills/tea/SKILL.md", "home/skills"),
        ("prompts/p.yaml", "home/prompts"),
        ("agents/work", "home/agents"),
    ],
)
def test_place_that_everybody_can_change_is_named(changed: str, place: str, home: Path) -> None:
    """With the command to type, which closes it."""
    path = home / changed
    path.chmod(path.stat().st_mode | 0o002)
    ((named, text),) = told(home).items()
    assert named == place
    assert "every user of this machine" in text
    assert text.endswith(f" go-w {home.parent / place}")
    assert ("chmod -R" in text) == (changed.count("/") > 0)


@pytest.mark.parametrize(("others", "named"), [(True, ["home/agents.json"]), (False, [])])
def test_group_counts_where_it_has_other_members(
    home: Path, monkeypatch: pytest.MonkeyPatch, *, others: bool, named: list[str]
) -> None:
    """Most users have a group of their own."""
    monkeypatch.setattr(open_files, "has_other_members", lambda _: others)
    (home / "agents.json").chmod(0o664)
    assert [*told(home)] == named


def test_folder_above_counts_unless_it_is_sticky(home: Path) -> None:
    """In ``/tmp`` nobody can exchange the folder of another."""
    home.parent.chmod(0o777)
    assert [*told(home)] == ["."]
    home.parent.chmod(0o1777)
    assert told(home) == {}


def test_link_counts_as_what_it_leads_to(home: Path) -> None:
    """A configuration may be in a repository."""
    other = home.parent / "other.json"
    other.write_text("{}", "utf-8")
    other.chmod(0o666)
    (home / "agents.json").unlink()
    (home / "agents.json").symlink_to(other)
    assert [*told(home)] == ["home/agents.json"]


def test_doctor_names_what_the_check_names(home: Path) -> None:
    """As warnings, with the whole path."""
    (home / "hooks").chmod(0o777)
    findings = AdviceExtension().list_findings(Settings(home=home), None, None)
    (found,) = [one for one in findings if str(home) in one.text]
    assert (found.subject, found.verdict) == ("files", "warning")
    assert found.text.startswith(f"{home}/hooks can be changed by every user")
