"""The files that take a message from an update to its reply stay few and short, as README says."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAX_FILES, MAX_LINES = 15, 3000
# What the core keeps for them, or routes, is called so, too.
SAME_WORD = {"documents", "memory", "schedules", "skills", "subagents"}


def list_spine() -> list[Path]:
    """Return the files that README lists in reading order."""
    section = (ROOT / "README.md").read_text("utf-8").partition("## Read the spine\n")[2]
    found = re.findall(r"^\d+\. `([\w/.]+)`", section.partition("\n## ")[0], re.MULTILINE)
    return [ROOT / name for name in found]


def count_lines(path: Path) -> int:
    """Return the number of lines, blank ones included."""
    return len(path.read_text("utf-8").splitlines())


def test_spine_is_at_most_15_files_and_3000_lines() -> None:
    """More than that is not read, whatever a README says."""
    spine = list_spine()
    assert spine
    assert [path for path in spine if not path.is_file()] == []
    assert len(spine) == len({*spine}) <= MAX_FILES
    assert sum(map(count_lines, spine)) <= MAX_LINES


def test_readme_tells_the_spine_s_length_truthfully() -> None:
    """To a hundred lines, and with the number of files."""
    text = (ROOT / "README.md").read_text("utf-8")
    told = re.search(r"in this order: ([\d,]+) lines", text)
    assert told is not None
    lines = sum(map(count_lines, list_spine()))
    assert abs(int(told[1].replace(",", "")) - lines) <= 100
    assert ("[Thirteen files]" in text) == (len(list_spine()) == 13)


def test_spine_names_no_extension() -> None:
    """What could be deleted has no place in what everybody reads."""
    folders = (ROOT / "orchestrator" / "extensions").iterdir()
    names = {path.name for path in folders if (path / "__init__.py").exists()} - SAME_WORD
    assert names
    named = re.compile(rf"\b({'|'.join(sorted(names))})\b", re.IGNORECASE)
    found = [
        f"{path.name}: {match[0]}"
        for path in list_spine()
        for match in named.finditer(path.read_text("utf-8"))
    ]
    assert found == []
