"""The end of a long command by a signal."""

import signal


def end_by_sigterm() -> None:
    """Let SIGTERM end the command as Ctrl-C does, also where Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
