"""Run a daemon that records its calls: ``python -P traceddaemon.py TREE FILE``.

SIGUSR1 begins a recording of the calls of functions below ``orchestrator/`` and ``thinker/`` of
TREE in this process, SIGUSR2 ends it and writes one call a line to FILE: the file, the line and the
name of the function. It imports no module of this tree: it runs with other Pythons, too.
"""

import runpy
import signal
import sys
from pathlib import Path
from types import CodeType, FrameType

TOOL = sys.monitoring.PROFILER_ID
CALL = sys.monitoring.events.PY_START


def main(tree: Path, target: Path) -> None:
    """Run the daemon with this recording."""
    ours = tuple(f"{tree / package}/" for package in ("orchestrator", "thinker"))
    calls: list[CodeType] = []

    def record_call(code: CodeType, _: int) -> object:
        if not code.co_filename.startswith(ours):
            return sys.monitoring.DISABLE
        calls.append(code)
        return None

    def begin_recording(_number: int, _frame: FrameType | None) -> None:
        calls.clear()
        sys.monitoring.set_events(TOOL, CALL)
        sys.monitoring.restart_events()

    def end_recording(_number: int, _frame: FrameType | None) -> None:
        sys.monitoring.set_events(TOOL, 0)
        lines = (
            f"{Path(code.co_filename).relative_to(tree)}\t{code.co_firstlineno}\t{code.co_qualname}\n"
            for code in calls
        )
        unfinished = target.with_suffix(".new")
        unfinished.write_text("".join(lines), "utf-8")
        unfinished.replace(target)

    sys.monitoring.use_tool_id(TOOL, "spine")
    sys.monitoring.register_callback(TOOL, CALL, record_call)
    signal.signal(signal.SIGUSR1, begin_recording)
    signal.signal(signal.SIGUSR2, end_recording)
    sys.argv = ["orchestrator", "run"]
    runpy.run_module("orchestrator", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
