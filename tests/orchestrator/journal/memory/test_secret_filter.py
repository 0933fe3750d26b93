"""Secrets are known by their form; the reference's own cases: tests/test_vectors.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.journal.memory.secret_filter import (
    detect_secret_kind,
    iter_token_spans,
    mask_tokens,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # Put together here, so that no scanner takes this file for a leak.
        ("the key is " + "sk-" + "abcd1234" * 3, "API key"),
        ("sk-" + "ant-api03-" + "x" * 20, "API key"),
        ("ghp_" + "a1" * 18, "API key"),
        ("Authorization: Bearer " + "abcDEF123." * 3, "API key"),
        ("12345678" + ":" + "AAE" + "x" * 32, "API key"),
        ("eyJ" + "hbGciOiJI" * 2 + ".eyJzdWIiOiIx." + "c2ln", "API key"),
        ("-----BEGIN RSA PRIVATE " + "KEY-----", "private key"),
        ("mongodb+srv://root:" + "pw@cluster0.example.net/x", "connection string"),
        ("The wifi password is hunter2!", "password"),
        ("my PIN is 4321", "password"),
        ("client_secret=abc", "password"),
        ('{"api_key": "abc"}', "password"),
        ("AWS secret access key: abc", "password"),
        ("pays with 5500-0000-0000-0004", "card"),
        ("Amex 378282246310005", "card"),
        ("SSN 078-05-1120", "social security"),
    ],
)
def test_secret_is_named(text: str, kind: str) -> None:
    """What kind it is goes into the refusal."""
    found = detect_secret_kind(text)
    assert found is not None
    assert kind in found


@pytest.mark.parametrize(
    "text",
    [
        "User forgot their password",
        "User keeps passwords in Bitwarden",
        "The password policy is strict",
        "User asked for the keyboard: a split one",
        "Chat -1001234567890 is the family",
        "Order 4111 1111 1111 1112 is delayed",
        "See https://example.com:8080/@user and postgres://localhost/db",
        "Phone +49 30 1234 5678 9012",
        "User collects tokens of old arcades",
        "User's passport expires in 2031",
        "Born 1984-05-23",
    ],
)
def test_what_only_speaks_of_secrets_is_kept(text: str) -> None:
    """A memory that refuses too much is no use."""
    assert detect_secret_kind(text) is None


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    """No text breaks the rules."""
    detect_secret_kind(text)


@pytest.mark.parametrize(
    "unit",
    [
        "a+",
        "1-",
        "a.",
        "eyJ" + "a" * 10 + "-",
        "a://",
        "a:",
        "password ",
        "4111 ",
        "-----BEGIN ",
    ],
)
def test_megabyte_of_half_a_secret_is_read_once(unit: str) -> None:
    """With a pattern that begins again inside its own match this would take hours."""
    assert detect_secret_kind(unit * (1_000_000 // len(unit)) + "\n") is None


def test_places_of_tokens_are_found_by_their_form_alone() -> None:
    """A private key with all its lines; words around a password do not count."""
    token, key = "sk-" + "abcd1234" * 3, "-----BEGIN PRIVATE KEY-----\nabc\n"
    text = f"my password is easy7 and {token}, {key}-----END PRIVATE KEY-----"
    found = [text[start:end] for start, end in iter_token_spans(text)]
    assert found == [token, key]
    assert [*iter_token_spans(key)] == [(0, len(key))]


def test_sentence_has_no_token() -> None:
    """Wherever it comes from, and however many it has."""
    token = "ghp_" + "a1B2" * 6
    assert mask_tokens(f"args: {token}, {token} are added") == "args: [secret], [secret] are added"
