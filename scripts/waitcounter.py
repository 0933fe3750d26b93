"""Run a daemon that counts in a file how often its writer waits for PostgreSQL.

``python -P waitcounter.py FILE``; the file begins with one number of eight bytes.
"""

import mmap
import runpy
import sys
import threading
from pathlib import Path

from orchestrator.extensions.postgresql.pipelined_connection import PipelinedConnection

WRITER = "journal"  # the writer's thread


def main(target: Path) -> None:
    """Run the daemon with this count."""
    target.write_bytes(bytes(mmap.PAGESIZE))
    with target.open("r+b") as file:
        count = memoryview(mmap.mmap(file.fileno(), mmap.PAGESIZE)).cast("Q")
    settle = PipelinedConnection.settle

    def settle_and_count(db: PipelinedConnection) -> None:
        before = db.waits
        try:
            settle(db)
        finally:
            if threading.current_thread().name == WRITER:
                count[0] += db.waits - before

    PipelinedConnection.settle = settle_and_count  # type: ignore[method-assign]
    sys.argv = ["orchestrator", "run"]
    runpy.run_module("orchestrator", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
