"""The contract of every channel, which an extension provides; the stub names it."""

from orchestrator.testing import import_provided


def __getattr__(name: str) -> object:
    if name.startswith("__"):  # Python looks these up in every module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_provided("channel_contract"), name)
