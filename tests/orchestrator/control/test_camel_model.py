"""Values of the control socket: their JSON, and copies of other objects."""

from dataclasses import dataclass

import pytest

from orchestrator.control.protocol import PairingReport


@dataclass
class Row:
    """A row with more than the report shows."""

    channel: str = "telegram"
    chat_id: str = "7"
    name: str = "Ann"
    code: str | None = None
    state: str = "approved"
    created_at: int = 1500
    role: str | None = None
    expires_at: int = 9999


def test_fields_are_copied_unless_they_are_changed() -> None:
    """Others of the object are left out."""
    report = PairingReport.from_object(Row(), created_at=1.5)
    assert report.model_dump() == {
        "channel": "telegram",
        "chatId": "7",
        "name": "Ann",
        "code": None,
        "state": "approved",
        "createdAt": 1.5,
        "role": None,
    }


def test_missing_field_is_an_error() -> None:
    """A report never falls back to a default in silence."""
    with pytest.raises(AttributeError):
        PairingReport.from_object(object())
