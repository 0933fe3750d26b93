"""Tell which job of the journal's writer the process died in, however it died.

The writer runs one job at a time, and in its jobs the supervisor reads what people wrote. A job's
name and chat are in a small file while it runs. The file's content outlives the process but, as it
is not synced, perhaps not the machine: a power cut says nothing about a message.

A killed daemon dies in some job, too. So a job is guilty only if several processes in a row died in
it and none completed it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MAX_DEATHS = 3  # processes that may die of one message before it is given up
SIZE = 512  # bytes; chats with longer names share the beginning


class CrashRecord:
    """The job in hand, and the job in which the process before this one died.

    ``deaths`` counts the processes in a row that died in the job ``died_in`` of ``chat``. A job
    that belongs to no chat has an empty one.
    """

    def __init__(self, path: Path) -> None:
        """Open the file. One that cannot be used records nothing."""
        self.deaths, self.died_in, self.chat = 0, "", ""
        self._path = path
        self._file: int | None = None
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with suppress(OSError):
            self._file = os.open(path, flags, mode=0o600)
            self._parse(os.pread(self._file, SIZE, 0).rstrip(b"\0").decode(errors="replace"))

    @property
    def convicted(self) -> str | None:
        """Return the chat whose oldest message ends the daemon, if there is one."""
        return self.chat if self.chat and self.deaths >= MAX_DEATHS else None

    @contextmanager
    def in_hand(self, job: str, chat: str) -> Iterator[None]:
        """Record a job of a chat for as long as the block runs; its completion acquits it."""
        suspected = bool(self.deaths) and (job, chat) == (self.died_in, self.chat)
        self._write(f"{self.deaths + 1 if suspected else 1} {job} {chat}")
        try:
            yield
        finally:
            self._write("")
            if suspected:
                self.deaths = 0

    def remove(self) -> None:
        """Leave no record: the process ends cleanly."""
        self.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, text: str) -> None:
        if self._file is not None:
            with suppress(OSError):  # the disk may be full
                os.pwrite(self._file, text.encode()[:SIZE].ljust(SIZE, b"\0"), 0)

    def _parse(self, text: str) -> None:
        deaths, _, job = text.partition(" ")
        if deaths.isascii() and deaths.isdigit():
            self.deaths = int(deaths)
            self.died_in, _, self.chat = job.partition(" ")
