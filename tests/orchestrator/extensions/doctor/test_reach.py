"""The attempts themselves: without a jail they succeed, so a refusal means something."""

import os
import socket
from pathlib import Path

from orchestrator.extensions.doctor.reach import try_attempts


def test_process_without_a_jail_reaches_files_and_sockets_and_changes_none(tmp_path: Path) -> None:
    """What does not exist is not among the answers."""
    (tmp_path / "file").write_text("text")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        paths = {name: tmp_path / name for name in (".", "file", "socket", "none")}
        found = dict(try_attempts({"itself": os.getpid(), "gone": 2**22}, paths))
    wanted = {
        *(".: list", ".: write", "file: read", "file: write", "socket: connect"),
        *("itself: kill", "itself: environ", "TCP", "socket", "fork", "exec"),
    }
    assert {name for name in wanted if found[name]} == wanted
    assert not [name for name in found if name.startswith(("gone", "none"))]
    assert (tmp_path / "file").read_text() == "text"
    assert len(list(tmp_path.iterdir())) == 2
