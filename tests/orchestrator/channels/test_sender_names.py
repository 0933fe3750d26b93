"""Names of senders, which they choose themselves."""

import pytest

from orchestrator.channels.sender_names import MAX_NAME, format_sender_name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada  Lovelace", "Ada Lovelace"),
        ("\u202eecilA\u202c\u200b", "ecilA"),
        ("two\nlines\x07", "two lines"),
        ("eve@evil.example", "eve@evil.example"),
        ("boss@bank.example", "eve@evil.example (boss@bank.example)"),
        ("boss\uff20bank.example", "eve@evil.example (boss\uff20bank.example)"),
        ("@boss", "eve@evil.example (@boss)"),
        ("Ada at 5 @ noon", "Ada at 5 @ noon"),
    ],
)
def test_a_name_hides_nothing_and_passes_for_no_other_address(name: str, shown: str) -> None:
    """The real address comes first where the name looks like another one."""
    assert format_sender_name(name, "eve@evil.example") == shown


def test_a_long_name_is_cut() -> None:
    """Journal and screens show it whole."""
    assert len(format_sender_name("a@b" * 500, "x" * 500)) == MAX_NAME
