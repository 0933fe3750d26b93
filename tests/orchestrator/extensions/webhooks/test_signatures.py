"""A signature shows that its sender has the secret."""

import hashlib
import hmac

import pytest

from orchestrator.extensions.webhooks.hook_settings import HookSignature
from orchestrator.extensions.webhooks.signatures import (
    build_signature,
    check_signature,
    read_signed_text,
)

BODY, SECRET, NOW = b"Hello, World!", "It's a Secret to Everybody", 1_700_000_000.0
GITHUB = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
PLAIN = HookSignature()
TIMED = HookSignature(style="timestamp", header="Stripe-Signature")
SHOPIFY = HookSignature(header="X-Signature", prefix="", encoding="base64")


def mac(signed: bytes) -> str:
    """The hexadecimal signature of some bytes."""
    return hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()


def why(settings: HookSignature, header: str | None, body: bytes = BODY) -> str | None:
    """The objection to a request of now."""
    return check_signature(settings, SECRET, body, header, NOW)


def test_signature_of_github_is_the_one_that_it_documents() -> None:
    """And so is the one that is sent."""
    assert why(PLAIN, GITHUB) is None
    assert build_signature(PLAIN, SECRET, BODY, NOW) == GITHUB


@pytest.mark.parametrize("settings", [PLAIN, TIMED, SHOPIFY])
def test_signature_that_is_made_here_counts_here(settings: HookSignature) -> None:
    """For its body and its secret alone."""
    made = build_signature(settings, SECRET, BODY, NOW)
    assert why(settings, made) is None
    assert why(settings, made, b"Hello, World?") == f"the signature in {settings.header} is wrong"
    assert check_signature(settings, "another secret", BODY, made, NOW) is not None


@pytest.mark.parametrize(
    ("settings", "header", "problem"),
    [
        (PLAIN, None, "the request has no header X-Hub-Signature-256"),
        (PLAIN, "", "wrong"),
        (PLAIN, GITHUB.removeprefix("sha256="), "wrong"),
        (PLAIN, "sha256=", "wrong"),
        (PLAIN, "sha256=\u00e9", "wrong"),
        (TIMED, f"v1={mac(BODY)}", "lacks a time"),
        (TIMED, f"t=x,v1={mac(b'x.' + BODY)}", "lacks a time"),
        (TIMED, f"t=1699999600,v1={mac(b'1699999600.' + BODY)}", "is not within 300 s"),
        (TIMED, f"t=1700000400,v1={mac(b'1700000400.' + BODY)}", "is not within 300 s"),
        (TIMED, f"t={'9' * 5000},v1=x", "is not within 300 s"),
        (TIMED, f"t=1700000000,v1={mac(b'1699999600.' + BODY)}", "wrong"),
        (TIMED, f"t=1700000000,v0={mac(b'1700000000.' + BODY)}", "wrong"),
    ],
)
def test_request_without_the_right_signature_is_refused(
    settings: HookSignature, header: str | None, problem: str
) -> None:
    """Its sender is told what is wrong with it."""
    assert problem in str(why(settings, header))


def test_one_of_several_signatures_is_enough_while_a_secret_changes() -> None:
    """As Stripe sends them."""
    right = mac(b"1700000000." + BODY)
    assert why(TIMED, f"t=1700000000, v1={'0' * 64}, v1={right}") is None


def test_signed_text_is_what_the_signature_is_of() -> None:
    """With the time where the time is signed, so that an equal body at another time is another."""
    timed = HookSignature(style="timestamp")
    assert read_signed_text(HookSignature(), b"body", "sha256=00") == b"body"
    assert read_signed_text(timed, b"body", "t=17,v1=00") == b"17.body"
    assert read_signed_text(timed, b"body", "v1=00") == b".body"
