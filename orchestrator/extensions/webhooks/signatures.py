"""Signatures of webhooks: HMAC-SHA256 with a shared secret.

The style "body" signs the body, as GitHub does: ``sha256=HEX``. The style "timestamp" signs its
time as well, as Stripe does: ``t=SECONDS,v1=HEX``, of ``SECONDS.BODY``.

Where: is a webhook's signature checked?
"""

import hashlib
import hmac
from base64 import b64encode
from typing import Literal

from orchestrator.extensions.webhooks.hook_settings import HookSignature

SCHEME = "v1"
MAX_TRIED = 5  # signatures of one header, while a sender changes its secret


def build_signature(settings: HookSignature, secret: str, body: bytes, now: float) -> str:
    """Build the signature header's value; ``now`` in seconds since the epoch."""
    if settings.style == "body":
        return settings.prefix + _compute_mac(secret, body, settings.encoding)
    seconds = str(round(now))
    mac = _compute_mac(secret, _prefix_timestamp(seconds, body), settings.encoding)
    return f"t={seconds},{SCHEME}={mac}"


def check_signature(
    settings: HookSignature, secret: str, body: bytes, header: str | None, now: float
) -> str | None:
    """Return the reason why a request's signature is invalid, or None if it is valid."""
    if header is None:
        return f"the request has no header {settings.header}"
    signed = read_signed_text(settings, body, header)
    if settings.style == "body":
        given = [header.removeprefix(settings.prefix)] if header.startswith(settings.prefix) else []
    else:
        seconds = _read_items(header, "t")[0]
        given = _read_items(header, SCHEME)[:MAX_TRIED]
        if not (seconds.isascii() and seconds.isdecimal()):
            return f"{settings.header} lacks a time, as in t=1700000000,{SCHEME}=…"
        if abs(now - int(seconds[:15])) > settings.tolerance_seconds:
            return f"the time in {settings.header} is not within {settings.tolerance_seconds} s"
    own = _compute_mac(secret, signed, settings.encoding).encode()
    # All are compared, in the same time whatever they are.
    right = [hmac.compare_digest(own, value.strip().encode()) for value in given]
    return None if any(right) else f"the signature in {settings.header} is wrong"


def read_signed_text(settings: HookSignature, body: bytes, header: str) -> bytes:
    """Return what a request's signature is of: its body, of the style "timestamp" its time too."""
    if settings.style == "body":
        return body
    return _prefix_timestamp(_read_items(header, "t")[0], body)


def _read_items(header: str, wanted: str) -> list[str]:
    """Return the values of one name in a header; one empty value if the header has none."""
    items = [item.strip().partition("=") for item in header.split(",")]
    return [value for name, _, value in items if name == wanted] or [""]


def _prefix_timestamp(seconds: str, body: bytes) -> bytes:
    return seconds.encode() + b"." + body


def _compute_mac(secret: str, signed: bytes, encoding: Literal["hex", "base64"]) -> str:
    made = hmac.new(secret.encode(), signed, hashlib.sha256)
    return made.hexdigest() if encoding == "hex" else b64encode(made.digest()).decode()
