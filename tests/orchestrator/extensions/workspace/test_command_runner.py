"""Shortening what commands write."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.workspace.command_runner import ShortenedOutput


@given(st.lists(st.binary(max_size=50)), st.integers(min_value=2, max_value=60))
def test_beginning_and_end_are_kept_in_bounded_memory(parts: list[bytes], keep: int) -> None:
    """Whole if there is room, and never more than twice the room is held."""
    output = ShortenedOutput(keep)
    for part in parts:
        output.add(part)
    whole = b"".join(parts)
    half = keep // 2
    if len(whole) <= 2 * half:
        assert output.format_output() == whole.decode("utf-8", "replace")
    elif len(whole) > keep:
        head, _, rest = output.format_output().partition("\n[… ")
        assert head == whole[:half].decode("utf-8", "replace")
        assert rest.partition(" …]\n")[2] == whole[len(whole) - half :].decode("utf-8", "replace")
