"""The token of the endpoints. It is shown once; only its digest is stored."""

import hashlib
import secrets
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from orchestrator.files import write_private

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
        try:
            state = self.path.stat()
            return _read(self.path, state.st_ino, state.st_ctime_ns, state.st_size)
        except (OSError, UnicodeDecodeError):
            return None

    def accepts(self, token: str) -> bool:
        """Return whether ``token`` is valid, in the same time for every token."""
        digest = self.digest()
        return digest is not None and secrets.compare_digest(_digest(token), digest)


@lru_cache(maxsize=1)  # every request reads it
def _read(path: Path, *_state: int) -> str | None:
    return path.read_text("ascii").strip() or None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
