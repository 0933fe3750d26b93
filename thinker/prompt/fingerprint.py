"""Fingerprints of prompts: equal prompts have equal fingerprints."""

import hashlib


def compute_digest(text: str) -> str:
    """Return the SHA-256 of the UTF-8 bytes of ``text`` in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
