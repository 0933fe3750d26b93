"""Agents in a Python program, by the path that programs import.

The implementation is an extension, which an entry point of the group ``thinker.runtime`` names. The
stub beside this module gives type checkers its names.
"""

from functools import cache
from importlib.metadata import entry_points
from types import ModuleType

MISSING = (
    "agents in a Python program need the extension 'runtime', which is not installed; run: pip"
    " install --force-reinstall orchestrator-daemon"
)


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":  # what Python itself asks every module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_extension(), name)


def __dir__() -> list[str]:
    return list(_import_extension().__all__)


@cache
def _import_extension() -> ModuleType:
    """Import the extension.

    Raises:
        ImportError: it is not installed; says what to type.
    """
    for point in entry_points(group=__name__):
        try:
            module: ModuleType = point.load()
        except ModuleNotFoundError as error:
            if not f"{point.module}.".startswith(f"{error.name}."):
                raise  # it is there, and a library that it needs is not
        else:
            return module
    raise ImportError(MISSING, name=__name__)
