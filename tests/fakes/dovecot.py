"""A real IMAP server, Debian's Dovecot, which submits mails to another server as well."""

import grp
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.certificate import certificate
from fakes.time_limit import LIMIT

from orchestrator.testing.loopback import find_free_port

DOVECOT = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
WITH_DOVECOT = pytest.mark.skipif(DOVECOT is None, reason="there is no Dovecot; install Debian's")
PASSWORD = "app-password"
CONFIG = """\
base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/dovecot.log
protocols = imap submission
listen = 127.0.0.1, 127.0.0.2
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
mail_location = maildir:{folder}/mail/%u
mailbox_idle_check_interval = 1 secs
disable_plaintext_auth = no
ssl = yes
ssl_cert = <{folder}/certificate.pem
ssl_key = <{folder}/certificate.pem
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={uid} home={folder}/mail/%u
}}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
    ssl = yes
  }}
}}
service submission-login {{
  chroot =
  inet_listener submission {{
    port = 0
  }}
  inet_listener submissions {{
    port = {submissions}
    ssl = yes
  }}
}}
submission_relay_host = 127.0.0.1
submission_relay_port = {relay}
"""
UNPRIVILEGED = 65534  # the user of the server, which refuses to read mail as root
_numbers = itertools.count(1)


@dataclass
class MailHost:
    """A running Dovecot, where every name of a user has a mailbox; `kill` and `start` as wanted.

    What is submitted to it goes on to the server at port ``relay``.
    """

    folder: Path
    user: int
    imap: int
    imaps: int
    submissions: int
    relay: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        notified = self.folder / "notify"
        notified.unlink(missing_ok=True)
        root = os.getuid() == 0
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(notified))
            notified.chmod(0o777)
            ready.settimeout(LIMIT)
            self.process = subprocess.Popen(
                [str(DOVECOT), "-F", "-c", str(self.folder / "dovecot.conf")],
                env={**os.environ, "NOTIFY_SOCKET": str(notified)},
                start_new_session=True,
                user=self.user if root else None,
                group=self.user if root else None,
                extra_groups=() if root else None,
            )
            while b"READY=1" not in ready.recv(4096):
                pass

    def kill(self) -> None:
        """End it and its processes as a crash does."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def deliver(self, user: str, mail: bytes, age: int = 0) -> None:
        """Put a mail into a mailbox, as a server does that took it in ``age`` seconds ago."""
        box = self.folder / "mail" / user
        for name in ("", "tmp", "new", "cur"):
            (box / name).mkdir(exist_ok=True)
        path = box / "tmp" / f"{next(_numbers):09}.test"
        path.write_bytes(mail)
        if os.getuid() == 0:
            for made in (box, *box.iterdir(), path):
                os.chown(made, self.user, self.user)
        arrived = path.stat().st_mtime - age
        os.utime(path, (arrived, arrived))
        path.rename(box / "new" / path.name)

    def unseen(self, user: str) -> int:
        """How many mails of a mailbox no one has seen."""
        box = self.folder / "mail" / user
        waiting = [*(box / "new").iterdir(), *(box / "cur").iterdir()]
        return sum("S" not in path.name.partition(":2,")[2] for path in waiting)

    def renumber(self, user: str) -> None:
        """Give all mails of a mailbox new numbers, as after a repair."""
        box = self.folder / "mail" / user
        uids = box / "dovecot-uidlist"
        version, validity, *_ = uids.read_text().split()
        uids.write_text(f"{version} V{int(validity[1:]) + 1} N1\n")
        for name in box.glob("dovecot.*"):
            name.unlink()


@contextmanager
def mail_host(relay: int = 25) -> Iterator[MailHost]:
    """Run Dovecot."""
    user = UNPRIVILEGED if os.getuid() == 0 else os.getuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for inside in ("run", "mail"):
            (folder / inside).mkdir()
        certificate(folder)
        host = MailHost(folder, user, find_free_port(), find_free_port(), find_free_port(), relay)
        config = CONFIG.format(
            user=pwd.getpwuid(user).pw_name,
            group=grp.getgrgid(user).gr_name,
            uid=user,
            password=PASSWORD,
            **{key: value for key, value in vars(host).items() if key != "user"},
        )
        (folder / "dovecot.conf").write_text(config)
        if os.getuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, user, user)
        host.start()
        try:
            yield host
        finally:
            host.kill()
