"""Run ``scripts/vectors FILE…``: check cases against the product and report failures."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vector_runner.cases import load
from vector_runner.outcome import judge, listed


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(files: Sequence[str]) -> int:
    """Return the exit code: 0 without failures, 1 with failures, 2 without files."""
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
