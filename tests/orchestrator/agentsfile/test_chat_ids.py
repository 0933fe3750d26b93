"""Ids that no chat of a platform has."""

import pytest

from orchestrator.agentsfile.chat_ids import check_chat_id


@pytest.mark.parametrize(
    ("chat", "binds", "sends"),
    [
        ("ann", False, False),
        ("@a", False, False),
        ("@news_of_ann", False, True),
        ("-1005", True, True),
        ("5", True, True),
    ],
)
def test_id_of_no_chat_is_known(chat: str, *, binds: bool, sends: bool) -> None:
    """A public name can be written to; what comes in has a number."""
    said = (
        f'no chat of Carrier is called "{chat}", so this has no effect; write its id, as'
        " orchestrator status shows it"
    )
    assert check_chat_id("carrier", chat) == (None if binds else said)
    assert check_chat_id("carrier", chat, written_to=True) == (None if sends else said)


def test_any_id_is_possible_on_an_unknown_channel() -> None:
    """Its name is told elsewhere."""
    assert check_chat_id("pidgin", "ann") is None
