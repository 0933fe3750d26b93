"""The token of the endpoints: shown once, kept as a digest; without it they do not exist."""

import hashlib
import secrets
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from orchestrator.files import write_private

PREFIX = "orc_"  # so that scanners and people know what they have found
BYTES = 32  # of randomness (reference/reliability.md S9)


@dataclass(frozen=True)
class TokenFile:
    """Where the digest of the one valid token is."""

    path: Path

    def make(self) -> str:
        """A new token; an earlier one is worth nothing from now on."""
        token = PREFIX + secrets.token_urlsafe(BYTES)
        write_private(self.path, _digest(token).encode())
        return token

    def revoke(self) -> bool:
        """Have no token any more; whether there was one."""
        existed = self.path.exists()
        self.path.unlink(missing_ok=True)
        return existed

    def digest(self) -> str | None:
        """The digest of the valid token; None while there is none."""
        try:
            state = self.path.stat()
            return _read(self.path, state.st_ino, state.st_ctime_ns, state.st_size)
        except (OSError, UnicodeDecodeError):
            return None

    def accepts(self, token: str) -> bool:
        """Whether this is the token; takes as long for a wrong one."""
        digest = self.digest()
        return digest is not None and secrets.compare_digest(_digest(token), digest)


@lru_cache(maxsize=1)  # every request looks
def _read(path: Path, *_state: int) -> str | None:
    return path.read_text("ascii").strip() or None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
