"""``scripts/fuzz TARGET --minutes N``: looks for inputs that break a promise.

Says how far it is, prints the smallest failing input that it finds, and exits with 1 then.
"""

import argparse
import sys
import time

from fuzzing.run import Failure, Fuzzer
from fuzzing.targets import TARGETS


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="for a repetition")
    asked = parser.parse_args()
    fuzzer = Fuzzer(TARGETS[asked.target], asked.seed)
    start = time.monotonic()
    end = start + asked.minutes * 60
    while time.monotonic() < end:
        failure = fuzzer.round()
        minutes, seconds = divmod(round(time.monotonic() - start), 60)
        _say(
            f"\r{asked.target}: {fuzzer.examples} inputs, {fuzzer.costs} costs, "
            f"{minutes}:{seconds:02} of {asked.minutes:g} minutes"
        )
        if failure is not None:
            _tell(failure, asked.seed)
            return 1
    _say("\n")
    return 0


def _tell(failure: Failure, seed: int) -> None:
    _say(f"\nFAILED ({failure.kind}, seed {seed})\ninput: {failure.value!r}\n{failure.trace}\n")


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


sys.exit(main())
