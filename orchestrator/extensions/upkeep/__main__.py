"""The process that looks for damaged pages in a large journal, while messages go first.

It prints the first damage and ends with `ExitCode.IO`, or ends with 0.
"""

import os
import sys
from pathlib import Path

from orchestrator.errors import ExitCode
from orchestrator.extensions.upkeep.damage_reader import find_file_damage
from thinker.jail import kernel

# Messages go first. On a busy machine, less would stop it amid a read, and the log would grow.
NICENESS = 10


def main(path: str) -> int:
    kernel.die_with_parent(os.getppid())
    os.nice(NICENESS)
    found = find_file_damage(Path(path))
    if found is None:
        return ExitCode.OK
    sys.stdout.write(found)
    return ExitCode.IO


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
