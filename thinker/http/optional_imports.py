"""Import libraries without the optional packages that they load when installed."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def block_imports(*packages: str) -> Iterator[None]:
    """Make imports of these packages fail inside the block, unless they are already loaded.

    Garbage collection is off meanwhile, since it takes a sixth of the startup time.
    """
    absent = [name for name in packages if name not in sys.modules]
    # None in sys.modules makes an import raise ModuleNotFoundError.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type] # typeshed knows no None
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # the imported objects stay
        if collecting:
            gc.enable()
        for name in absent:
            del sys.modules[name]
