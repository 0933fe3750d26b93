"""Import libraries without modules that they load and this process never calls."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from thinker.http.optional_imports import block_imports


class AbsentName(Exception):  # noqa: N818 - a stand-in that may also be caught or inherited from
    """Any name of a module that was left out."""


class _AbsentModule(ModuleType):
    def __getattr__(self, name: str) -> type[AbsentName]:
        """Return a class, which can be imported, inherited from and called."""
        if name.startswith("__"):
            raise AttributeError(name)
        return AbsentName


@contextmanager
def leave_out_modules(*names: str, missing: Sequence[str] = ()) -> Iterator[None]:
    """Give imports inside the block stand-ins for these modules, unless they are loaded already.

    Those of ``missing`` are not found at all; see `block_imports`.
    """
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update((name, _AbsentModule(name)) for name in absent)
    try:
        with block_imports(*missing):
            yield
    finally:
        for name in absent:
            del sys.modules[name]
