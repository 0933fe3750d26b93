"""Choose what CI runs of the thorough tests, and print it for ``scripts/test --thorough=…``.

    python scripts/thorough_parts.py

tests/thorough.md lists the parts, how long each takes, and the paths that it depends on. Chosen are
the parts of what has changed since the landing before, and one part in turn, as far as they fit
into the time. What does not fit is named on stderr: it runs before the next release.

The landing before is where this branch left origin/main, or else the commit before this one. Where
neither is there, as in the shallow clone of one commit, only the part in turn is run.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "thorough.md"
MINUTES = 9.0  # of the twenty that CI may take
ALWAYS = "types"  # whatever changed


class Part(NamedTuple):
    """Thorough tests that are chosen together: how long they take, and what they depend on."""

    name: str
    minutes: float
    paths: tuple[str, ...]

    def concerns(self, changed: Iterable[str]) -> bool:
        """Return whether a changed path begins with one of its own."""
        return any(path.startswith(self.paths) for path in changed)


def read_parts(text: str) -> list[Part]:
    """Read the table of parts."""
    table = text.partition("\n## Parts\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    return [
        Part(name.strip(" `"), float(minutes), tuple(re.findall(r"`([^`]+)`", paths)))
        for name, minutes, _, paths in rows
    ]


def choose_parts(
    parts: Sequence[Part], changed: Iterable[str], turn: int, minutes: float = MINUTES
) -> tuple[list[str], list[str]]:
    """Return the names of the parts to run, and of those for which there is no time.

    Quick parts come first. ``turn`` says which part is run whatever changed, if it fits.
    """
    changed = list(changed)
    wanted = [part for part in parts if part.name == ALWAYS or part.concerns(changed)]
    wanted.sort(key=lambda part: (part.name != ALWAYS, part.minutes))
    in_turn = parts[turn % len(parts)]
    chosen, left = list[str](), list[str]()
    for part in [*wanted, *([] if in_turn in wanted else [in_turn])]:
        if part.minutes <= minutes:
            minutes -= part.minutes
            chosen.append(part.name)
        elif part in wanted:
            left.append(part.name)
    return chosen, left


def find_landing() -> str | None:
    """Return the commit of the landing before, if this clone has it."""
    here = git("rev-parse", "HEAD")
    for found in (git("merge-base", "HEAD", "origin/main"), git("rev-parse", "--verify", "HEAD~1")):
        if found and found != here:
            return found
    return None


def git(*arguments: str) -> str:
    """Return what git says; nothing if it fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> None:
    before = find_landing()
    changed = git("diff", "--name-only", before, "HEAD").splitlines() if before else []
    turn = int(git("rev-list", "--count", "HEAD") or 0)
    chosen, left = choose_parts(read_parts(TABLE.read_text("utf-8")), changed, turn)
    if left:
        print("no time before the next release for:", ", ".join(left), file=sys.stderr)
    print(",".join(chosen))


if __name__ == "__main__":
    main()
