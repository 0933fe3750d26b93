"""The token of the endpoints. It is shown once; only its digest is stored."""

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from orchestrator.files import write_private
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError

PREFIX = "orc_"  # lets secret scanners and people recognize it
BYTES = 32  # of randomness: 256 bits, which cannot be guessed however many are tried


@dataclass(frozen=True)
class TokenFile:
    """The file with the digest of the one valid token."""

    path: Path

    def make(self) -> str:
        token = PREFIX + secrets.token_urlsafe(BYTES)
        write_private(self.path, _digest(token).encode())
        return token

    def revoke(self) -> bool:
        existed = self.path.exists()
        self.path.unlink(missing_ok=True)
        return existed

    def digest(self) -> str | None:
        """Return the digest of the token; None if it was not made yet.

        Raises:
            FileError: the file cannot be used.
        """
        try:
            return regular_file.read_text(self.path, regular_file.TOKEN).strip() or None
        except FileMissingError:
            return None

    def accepts(self, token: str) -> bool:
        """Return whether ``token`` is valid, in the same time for every token."""
        try:
            digest = self.digest()
        except FileError:  # reported by what serves the endpoints
            return False
        return digest is not None and secrets.compare_digest(
            _digest(token).encode(), digest.encode()
        )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
