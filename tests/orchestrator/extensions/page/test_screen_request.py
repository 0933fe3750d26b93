"""Whose chats a session sees."""

import pytest

from orchestrator.extensions.page.screen_request import Viewer


@pytest.mark.parametrize(
    ("role", "key", "sees"),
    [
        ("chat", "web/local/ann/x/", True),
        ("chat", "web/local/ann2/x/", False),
        ("chat", "web/local/bob/x/", False),
        ("chat", "telegram/1/7/", False),
        ("chat", "", False),
        ("viewer", "web/local/ann/x/", False),
        ("approver", "telegram/1/7/", False),
        ("operator", "telegram/1/7/", True),
        ("stranger", "web/local/ann/x/", False),
    ],
)
def test_session_sees_its_own_chats(role: str, key: str, *, sees: bool) -> None:
    """An operator sees all."""
    assert Viewer("ann", role).can_see_chat(key) is sees
