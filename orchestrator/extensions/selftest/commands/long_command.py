"""The progress display and the end of commands that run for minutes."""

import signal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def make_progress_bar() -> Progress:
    """Return a progress bar on stderr that counts the steps done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def interrupt_on_sigterm() -> None:
    """Let SIGTERM end the command as Ctrl-C does, also where Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
