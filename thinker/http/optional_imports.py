"""Import libraries without the optional packages that they load when installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Make imports fail for these packages inside the block, unless already loaded."""
    absent = [name for name in packages if name not in sys.modules]
    # None in sys.modules makes an import raise ModuleNotFoundError.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type] # typeshed knows no None
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
