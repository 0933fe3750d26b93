"""Debian's PgBouncer before the tests' server."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from fakes.time_limit import LIMIT
from psycopg.conninfo import conninfo_to_dict

from orchestrator.testing.loopback import find_free_port

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needs_bouncer = pytest.mark.skipif(PROGRAM is None, reason="there is no PgBouncer; install it")
USER = "postgres"
CONFIG = """\
[databases]
* = host={host} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {sessions}
ignore_startup_parameters = extra_float_digits
logfile = {folder}/log
"""


@contextmanager
def pool(database: str, mode: str, sessions: int = 20) -> Iterator[str]:
    """The address of a database behind a pooler with so many sessions, for the block."""
    port = find_free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = conninfo_to_dict(database)["host"]
        text = CONFIG.format(
            host=host, user=USER, port=port, mode=mode, sessions=sessions, folder=folder
        )
        (folder / "config").write_text(text)
        user = USER if os.getuid() == 0 else None
        if user is not None:
            for place in (folder, folder / "config"):
                shutil.chown(place, user)
        process = subprocess.Popen(
            [str(PROGRAM), str(folder / "config")],
            user=user,
            extra_groups=() if user else None,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = f"postgresql://{USER}@127.0.0.1:{port}{urlsplit(database).path}"
            _wait_for_answer(address, process)
            yield address
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(LIMIT)


def _wait_for_answer(address: str, process: "subprocess.Popen[bytes]") -> None:
    while True:
        assert process.poll() is None, "PgBouncer does not start"
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            continue
        return
