"""Fingerprints of prompts: equal texts have equal fingerprints."""

import hashlib


def compute_digest(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
