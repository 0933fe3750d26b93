"""The mark by which a daemon's processes are found, whatever they hide."""

import os
import subprocess
import sys
from pathlib import Path

from orchestrator.extensions.selftest.crash.home_mark import list_marked_processes, mark_process

PROGRAM = """
import subprocess, sys
from thinker.jail.hardening import harden_process
harden_process()
sys.stdin.read(1)
child = subprocess.Popen(["sleep", "1000"])
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
"""


def test_marked_process_and_its_children_are_found_though_they_are_hardened(
    tmp_path: Path,
) -> None:
    """Also by an ordinary user; processes of other homes are not."""
    program = subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with program as process:
        assert process.stdin is not None
        assert process.stdout is not None
        mark_process(process.pid, tmp_path)
        process.stdin.write(b".")
        process.stdin.flush()
        child = int(process.stdout.readline())
        assert set(list_marked_processes(tmp_path)) == {process.pid, child}
        assert list_marked_processes(tmp_path / "other") == []
        assert os.getpid() not in list_marked_processes(tmp_path)
