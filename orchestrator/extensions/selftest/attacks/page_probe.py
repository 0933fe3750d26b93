"""Try everything from the page's jail, as a process with arguments JOURNAL TARGET.

It enters the jail and opens the journal as the page's process does, in the daemon's home, and
prints what `inside.run_attempts` reached.
"""

import fcntl
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator.extensions.page.jailed_journal import enter_jail
from orchestrator.extensions.selftest.attacks.inside import MARK, run_attempts

OPEN_FILE = "an open file: write"
STANDARD = 3  # standard descriptors, including the log


def _list_writable_files() -> Iterator[int]:
    """Yield descriptors of files that this process could write to."""
    for fd in range(STANDARD, os.sysconf("SC_OPEN_MAX")):
        with suppress(OSError):
            way = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
            if way != os.O_RDONLY and stat.S_ISREG(os.fstat(fd).st_mode):
                yield fd


def main() -> None:
    journal, target = Path(sys.argv[1]), sys.argv[2]
    reads, _ = enter_jail(journal)
    found = json.loads(run_attempts(target).removeprefix(MARK))
    found += [OPEN_FILE] if any(_list_writable_files()) else []
    reads.close()
    sys.stdout.write(f"{MARK}{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
