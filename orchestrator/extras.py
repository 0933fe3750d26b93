"""Find missing libraries of an extra, and say how to install them."""

import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata
from importlib.util import find_spec
from pathlib import Path

DISTRIBUTION = "orchestrator-daemon"


def explain_missing(modules: Iterable[str], extra: str) -> str:
    """Return a message that names a missing module and how to install it, or an empty string.

    Nothing is imported.
    """
    missing = next((name for name in modules if find_spec(name) is None), None)
    if missing is None:
        return ""
    if not extra:  # a module and what brings it may differ in their names
        return f"{missing} is not installed; install what brings it with {find_pip()}"
    return f"{missing} is not installed; run: {find_pip()} install '{DISTRIBUTION}[{extra}]'"


def explain_missing_extension(name: str) -> str:
    """Return a message that names the missing extension and the command that installs it."""
    return f"the extension '{name}', which is not installed; run: {format_extension_install(name)}"


def format_extension_install(name: str) -> str:
    """Return the command that installs a bundled extension again.

    The extension's files may be missing although an extra of its name, or none, has been installed.
    """
    try:
        extras = metadata(DISTRIBUTION).get_all("Provides-Extra") or ()
    except PackageNotFoundError:  # a copy of the source that nothing has installed
        extras = ()
    wanted = f"'{DISTRIBUTION}[{name}]'" if name in extras else f"--force-reinstall {DISTRIBUTION}"
    return f"{find_pip()} install {wanted}"


def find_pip() -> str:
    """Return the pip of this environment, by its path if it has one."""
    path = Path(sys.executable).with_name("pip")
    return str(path) if sys.prefix != sys.base_prefix and path.exists() else "pip"
