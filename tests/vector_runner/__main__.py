"""``scripts/vectors FILE…``: runs cases through the product and says which fail."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vector_runner.cases import load
from vector_runner.outcome import judge, listed


def say(line: str) -> None:
    """One line of output."""
    sys.stdout.write(f"{line}\n")


def main(files: Sequence[str]) -> int:
    """The exit code: 0 when nothing failed, 1 when something did, 2 when no file was named."""
    if not files:
        sys.stderr.write("usage: scripts/vectors FILE…\n")
        return 2
    deviations = listed()
    counts: Counter[str] = Counter()
    for file in files:
        try:
            cases = load(Path(file))
        except (OSError, ValueError) as error:
            say(f"FAILED {file}: {error}")
            counts["failed"] += 1
            continue
        for case in cases:
            outcome = judge(case, deviations)
            counts[outcome.verdict] += 1
            if outcome.verdict == "failed":
                say(f"FAILED {case}\n{outcome.why}\n")
            elif outcome.verdict == "deviation":
                say(f"deviation {case}: {outcome.why}")
    if counts["deviation"]:
        say(f"{counts['deviation']} deviations, explained in tests/vectors/deviations.md")
    say(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


sys.exit(main(sys.argv[1:]))
