"""Who is a descendant of the daemon, asked of real processes."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.time_limit import LIMIT

from orchestrator.control.descendants import is_from_descendant

pytestmark = pytest.mark.process

OLD_KERNEL = "descendants.PIDFD_GET_INFO, descendants.SO_PEERPIDFD = 0, 9999"
DAEMON = """
import socket, subprocess, sys
from orchestrator.control import descendants
from orchestrator.processes.reaper import adopt_orphans

path, kernel, order, *command = sys.argv[1:]
exec(kernel)
adopt_orphans()
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(path)
    listener.listen()
    print("listening", flush=True)
    child = subprocess.Popen(command) if command else None
    if order == "late":
        child.wait()
    connection, _ = listener.accept()
    print(descendants.is_from_descendant(connection), flush=True)
    connection.close()
"""
CLIENT = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.recv(1)
"""
ORPHAN = f"""
import os
daemon = os.getppid()
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
while os.getppid() != daemon:
    os.sched_yield()
{CLIENT}
"""
BRIEF = CLIENT.replace("connection.recv(1)", "")


def answer(folder: Path, client: str | None, kernel: str, order: str = "at once") -> str:
    """What a listening process says of a client that it starts; None: of this test."""
    path = str(folder / "socket")
    command = (sys.executable, "-c", client, path) if client else ()
    argv = (sys.executable, "-P", "-c", DAEMON, path, kernel, order, *command)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == "listening\n"
        with socket.socket(socket.AF_UNIX) as connection:
            if client is None:
                connection.connect(path)
            return daemon.communicate(timeout=LIMIT)[0].strip()


@pytest.mark.parametrize("kernel", ["", OLD_KERNEL], ids=["newest kernel", "old kernel"])
class TestFromDescendant:
    """With a kernel that names a process's parent by its descriptor, and with one that does not."""

    def test_child_is_one(self, tmp_path: Path, kernel: str) -> None:
        """The plainest case."""
        assert answer(tmp_path, CLIENT, kernel) == "True"

    def test_adopted_orphan_is_one(self, tmp_path: Path, kernel: str) -> None:
        """Two forks and a session of its own do not help."""
        assert answer(tmp_path, ORPHAN, kernel) == "True"

    def test_process_that_has_ended_counts_as_one(self, tmp_path: Path, kernel: str) -> None:
        """Its parents cannot be asked any more."""
        assert answer(tmp_path, BRIEF, kernel, "late") == "True"

    def test_process_that_others_started_is_none(self, tmp_path: Path, kernel: str) -> None:
        """The operator's shell, even where it is the daemon's parent."""
        assert answer(tmp_path, None, kernel) == "False"


def test_process_is_no_descendant_of_itself(tmp_path: Path) -> None:
    """A daemon may use its own socket."""
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(path)
        listener.listen()
        client.connect(path)
        connection, _ = listener.accept()
        with connection:
            assert not is_from_descendant(connection)
