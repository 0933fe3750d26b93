"""How long a server asks to wait, in all the forms in which servers say it."""

import pytest

from thinker.http.retry_after import parse_retry_after

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 -0000"}, 10.0),
        ({"retry-after": "Tue, 14 Nov 2000 22:13:30 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Seconds, milliseconds and HTTP dates; anything else is ignored."""
    assert parse_retry_after(headers, NOW) == seconds
