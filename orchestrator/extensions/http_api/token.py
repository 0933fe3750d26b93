"""The token of the endpoints. It is shown once; only its digest is stored."""

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from orchestrator.files import write_private
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError

PREFIX = "orc_"  # lets secret scanners and people recognize it
FileStamp: TypeAlias = tuple[int, int, int, int]  # inode, size, and time of the last change
BYTES = 32  # of randomness: 256 bits cannot be guessed


@dataclass
class SecretFile:
    """A private file with one line, which is read again after each change."""

    path: Path
    _read: tuple[FileStamp | None, str | None] | None = field(default=None, init=False, repr=False)

    def read_text(self) -> str | None:
        """Return the line; None without a file.

        Raises:
            FileError: the file cannot be used.
        """
        signature = self._read_stamp()
        if self._read is None or self._read[0] != signature:
            try:
                text = regular_file.read_text(self.path, regular_file.TOKEN).strip()
            except FileMissingError:
                text = None
            self._read = signature, text
        return self._read[1]

    def is_unchanged(self) -> bool:
        """Return whether the file is unchanged, so that `read_text` would read nothing."""
        return self._read is not None and self._read[0] == self._read_stamp()

    def _read_stamp(self) -> FileStamp | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class TokenFile(SecretFile):
    """The file with the digest of the one valid token."""

    def make_token(self) -> str:
        token = PREFIX + secrets.token_urlsafe(BYTES)
        write_private(self.path, _compute_digest(token).encode())
        return token

    def revoke_token(self) -> bool:
        existed = self.path.exists()
        self.path.unlink(missing_ok=True)
        return existed

    def load_digest(self) -> str | None:
        """Return the digest of the token; None if none was made; see `read_text`."""
        return self.read_text() or None

    def accepts_token(self, token: str) -> bool:
        """Return whether ``token`` is valid, in the same time for every token."""
        try:
            digest = self.load_digest()
        except FileError:  # reported by what serves the endpoints
            return False
        return digest is not None and secrets.compare_digest(
            _compute_digest(token).encode(), digest.encode()
        )


def _compute_digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
