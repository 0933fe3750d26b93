"""Agents in a Python program, by the path that programs import.

The implementation is an extension, found by an entry point of the group ``thinker.runtime``. The
stub next to this module gives type checkers its names.
"""

from functools import cache
from importlib.metadata import entry_points
from types import ModuleType

MISSING = (
    "agents in a Python program need the extension 'runtime', which is not installed; run: pip"
    " install --force-reinstall orchestrator-daemon"
)


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":  # Python looks these up in every module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_extension(), name)


def __dir__() -> list[str]:
    return list(_import_extension().__all__)


@cache
def _import_extension() -> ModuleType:
    """Import the extension.

    Raises:
        ImportError: the extension is not installed; the message says how to install it.
    """
    for point in entry_points(group=__name__):
        try:
            module: ModuleType = point.load()
        except ModuleNotFoundError as error:
            if not f"{point.module}.".startswith(f"{error.name}."):
                raise  # the extension is installed, but not a library that it needs
        else:
            return module
    raise ImportError(MISSING, name=__name__)
