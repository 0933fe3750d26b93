"""The time limit of every wait in the tests.

It only ends a test that would hang, so it is far above what a starved machine needs. pytest's
own limit (``timeout`` in pyproject.toml) is above it and shows the stack of every thread.
"""

from contextlib import AbstractContextManager

import anyio

LIMIT = 120.0  # seconds


def time_limit(times: int = 1) -> AbstractContextManager[anyio.CancelScope]:
    """Raise TimeoutError in the block when it takes longer than so many times `LIMIT`."""
    return anyio.fail_after(times * LIMIT)
