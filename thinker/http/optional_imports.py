"""Libraries imported without the extras that they load when they find them installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Let imports find none of these packages, unless somebody has loaded them already."""
    absent = [name for name in packages if name not in sys.modules]
    # None is how the import system is told of a package that there is not.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type] # typeshed knows no None
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
