"""Run a daemon that times its journal's statements: ``python -P timeddaemon.py FILE``.

At its end it writes JSON to FILE: the longest CPU milliseconds of each statement that its writer or
its event loop has run. Reads on threads of their own are left out, and pragmas: a start looks for
damage with a clock of its own, before it answers.
"""

import atexit
import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import apsw

EVENTS = apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE
OURS = ("SqliteStorage.__init__", "JournalReader.__init__")
ASIDE = "SearchReader.__init__"
DEPTH = 8  # callers of what opens a connection


def main(target: Path) -> None:
    """Run the daemon with this clock."""
    longest: dict[str, float] = {}
    began: dict[int, float] = {}

    def time_statement(event: dict[str, Any]) -> None:
        if event["code"] == apsw.SQLITE_TRACE_STMT:
            began.setdefault(event["id"], time.thread_time())  # it comes again for each trigger
            return
        start = began.pop(event["id"], None)
        if start is not None and not event["sql"].startswith("PRAGMA"):
            ms = 1000 * (time.thread_time() - start)
            longest[event["sql"]] = max(ms, longest.get(event["sql"], 0.0))

    def watch(db: apsw.Connection) -> None:
        frame, opened = sys._getframe(1), set[str]()  # noqa: SLF001 - the interpreter's own way
        for _ in range(DEPTH):
            opened.add(frame.f_code.co_qualname)
            if frame.f_back is None:
                break
            frame = frame.f_back
        if opened.intersection(OURS) and ASIDE not in opened:
            db.trace_v2(EVENTS, time_statement)

    apsw.connection_hooks.append(watch)
    atexit.register(lambda: target.write_text(json.dumps(longest), "utf-8"))
    sys.argv = ["orchestrator", "run"]
    runpy.run_module("orchestrator", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
