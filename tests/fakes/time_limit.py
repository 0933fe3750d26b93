"""The time limit of every wait in the tests.

It only ends a test that would hang, so it is far above what a starved machine needs. pytest's
own limit (``timeout`` in pyproject.toml) is above it and shows the stack of every thread.
"""

from contextlib import AbstractContextManager

import anyio

LIMIT = 120.0  # seconds


def time_limit() -> AbstractContextManager[anyio.CancelScope]:
    """Raise TimeoutError in the block when it takes longer than `LIMIT`."""
    return anyio.fail_after(LIMIT)
