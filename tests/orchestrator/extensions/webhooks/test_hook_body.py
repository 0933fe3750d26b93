"""The body of a webhook is read as its type says."""

import pytest
from pydantic import JsonValue

from orchestrator.extensions.webhooks.hook_body import MAX_FIELDS, PayloadError, read_payload

FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "raw", "body"),
    [
        ("application/json", b'{"a": [1]}', {"a": [1]}),
        ("Application/JSON; charset=utf-8", b"[]", []),
        ("application/cloudevents+json", b"1", 1),
        (FORM, b"a=1&b=x+y&c=", {"a": "1", "b": "x y", "c": ""}),
        (FORM, b"payload=%7B%22a%22%3A1%7D", {"a": 1}),
        (FORM, b"payload=plain", {"payload": "plain"}),
        ("text/plain", "größer".encode(), "größer"),
        ("", b"{}", "{}"),
    ],
)
def test_body_is_read_by_its_type(kind: str, raw: bytes, body: JsonValue) -> None:
    """A form with JSON in its only field is that JSON; what has no type is text."""
    assert read_payload(kind, raw) == body


@pytest.mark.parametrize(
    ("kind", "raw", "problem"),
    [
        ("application/json", b"{", "the body is not JSON: "),
        ("application/json", b"\xff", "the body is not JSON: "),
        ("application/json", b"[" * 70 + b"]" * 70, "nested deeper than 64 levels"),
        (FORM, b"payload=%7B", "the body is not JSON: "),
        (FORM, b"&".join([b"a=1"] * (MAX_FIELDS + 1)), "more than 1000 fields"),
        ("image/png", b"\x89PNG\xff", "neither JSON nor text in UTF-8"),
    ],
)
def test_body_that_cannot_be_read_says_why(kind: str, raw: bytes, problem: str) -> None:
    """It is the sender's to correct."""
    with pytest.raises(PayloadError, match=problem):
        read_payload(kind, raw)
