"""Remove secrets from a stream of bytes, even when split between two pieces.

Where: are keys removed from models' answers?
"""

from collections.abc import Sequence

MIN_SECRET = 8  # characters; a shorter key is a placeholder, and may be a word of an answer
MASK = b"[key]"


class Redaction:
    """Replaces each secret in one stream by ``[key]``."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = [text.encode() for text in secrets if len(text) >= MIN_SECRET]
        self._held = b""

    def redact_text(self, data: bytes) -> bytes:
        """Return complete data with its secrets removed."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, MASK)
        return data

    def feed(self, data: bytes) -> bytes:
        """Return the bytes that are safe so far; hold back a possible beginning of a secret."""
        if not self._secrets:
            return data
        data = self.redact_text(self._held + data)
        cut = min(_find_beginning(data, secret) for secret in self._secrets)
        self._held = data[cut:]
        return data[:cut]

    def take_rest(self) -> bytes:
        """Return the bytes held back, at the end of the stream."""
        held, self._held = self._held, b""
        return held


def _find_beginning(data: bytes, secret: bytes) -> int:
    """Return the index at which a secret begins at the end of ``data``, or its length."""
    at = data.find(secret[:1], max(0, len(data) - len(secret) + 1))
    while at >= 0:
        if secret.startswith(data[at:]):
            return at
        at = data.find(secret[:1], at + 1)
    return len(data)
