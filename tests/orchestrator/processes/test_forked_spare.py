"""A forked child that becomes a program, as an interpreter of its own would run it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.time_limit import LIMIT

pytestmark = pytest.mark.process
PROBE = """
import json, os, sys
assert __name__ == "__main__"
os.write(int(os.environ["WIRE"]), json.dumps({
    "argv": sys.argv[1:],
    "cwd": os.getcwd(),
    "variables": dict(os.environ),
    "descriptors": sorted(os.listdir("/proc/self/fd"))[:4],
    "path": sys.path,
    "leads": os.getsid(0) == os.getpid(),
    "imported": "calendar" in sys.modules,
}).encode())
sys.exit(3)
"""
PROGRAM = """
import os, socket, sys
from pathlib import Path
from orchestrator.processes.child_process import Program
from orchestrator.processes.forked_spare import ForkedSpare

folder = sys.argv[1]
sys.path.append(folder)
left_open = os.open("/dev/null", os.O_RDONLY)
spare = ForkedSpare("probe", ["calendar"])
if sys.argv[2] == "killed":
    spare.kill()
    spare.wait()
ours, theirs = socket.socketpair()
program = Program("a probe", spare.argv, {"GIVEN": "yes"}, Path(folder), "WIRE")
try:
    spare.run_program(program, theirs.fileno())
    theirs.close()
    print(ours.recv(65536).decode())
    print(spare.wait())
except OSError as error:
    print(type(error).__name__)
"""


def run(folder: Path, fate: str) -> list[str]:
    """Fork a spare of a module in the folder and let it run; return the lines that are printed."""
    (folder / "probe.py").write_text(PROBE, "utf-8")
    command = [sys.executable, "-c", PROGRAM, str(folder), fate]
    done = subprocess.run(
        command,
        env={"CANARY": "not for the spare"},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_spare_runs_its_program_as_if_it_were_executed(tmp_path: Path) -> None:
    """With the program's variables alone, its folder, no other descriptor, and its exit code."""
    told, code = run(tmp_path, "living")
    found = json.loads(told)
    assert found["variables"] == {"GIVEN": "yes", "WIRE": "3"}
    assert (found["argv"], found["cwd"], code) == ([], str(tmp_path), "3")
    assert found["descriptors"] == ["0", "1", "2", "3"]
    assert "" not in found["path"]
    assert (found["leads"], found["imported"]) == (True, True)


def test_spare_that_has_ended_is_an_error_of_the_system(tmp_path: Path) -> None:
    """As a program that cannot be executed, so that the caller tries another way."""
    assert run(tmp_path, "killed") == ["BrokenPipeError"]
