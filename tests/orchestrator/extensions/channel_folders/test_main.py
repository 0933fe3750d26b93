"""A channel's process that cannot start says why."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from fakes.time_limit import LIMIT

from orchestrator.channelhost import channel_wire as wire

MANIFEST = b'{"title": "Pigeon", "limit": 100, "id_pattern": "a", "id_example": "a"}'
MODULE = "orchestrator_pigeon.pigeon_channel"


@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def connect(:", "SyntaxError: invalid syntax (pigeon_channel.py, line 1)"),
        ("", f"ImportError: {MODULE} has no `connect`"),
        ("raise SystemExit('no')", "SystemExit: no"),
        ("def connect(*_): raise ValueError('no loft')", "ValueError: no loft"),
        (None, "ModuleNotFoundError: the package of channel 'pigeon' is no longer installed"),
    ],
)
def test_process_that_cannot_start_tells_the_reason(
    tmp_path: Path, code: str | None, said: str
) -> None:
    """The last line of the traceback, before the process ends."""
    if code is not None:
        metadata, package = tmp_path / "pigeon-1.dist-info", tmp_path / "orchestrator_pigeon"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Name: pigeon\nVersion: 1\n")
        entry = "[orchestrator.extensions]\npigeon = orchestrator_pigeon\n"
        (metadata / "entry_points.txt").write_text(entry)
        package.mkdir()
        (package / "channel.json").write_bytes(MANIFEST)
        (package / "pigeon_channel.py").write_text(code)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "orchestrator.extensions.channel_folders", "pigeon"],
            env={**os.environ, "PYTHONPATH": str(tmp_path), wire.FD_VARIABLE: str(theirs.fileno())},
            pass_fds=[theirs.fileno()],
            cwd=tmp_path,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        told = orjson.loads(ours.recv(10_000))
    assert ended.returncode != 0
    assert told["method"] == wire.STATE
    assert told["params"]["state"] == "starting"
    assert told["params"]["detail"].startswith(said)
