"""The time limit of every wait in a test.

It only ends a test that would hang, so it is far above what a starved machine needs.
"""

from contextlib import AbstractContextManager

import anyio

LIMIT = 120.0  # seconds


def time_limit(times: int = 1) -> AbstractContextManager[anyio.CancelScope]:
    """Raise TimeoutError when the block takes longer than this many times `LIMIT`."""
    return anyio.fail_after(times * LIMIT)
