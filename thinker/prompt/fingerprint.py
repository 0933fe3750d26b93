"""Step 5, fingerprint: what tells whether two prompts are the same."""

import hashlib


def digest(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
