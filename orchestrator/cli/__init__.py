"""The command line: the first screen, and the dispatch to commands.

A command's module is imported when the command runs, so that ``orchestrator --help`` does not
load the whole program. `quick` answers the commands that scripts repeat; `command_line` has all.
"""

import os
import sys
import threading
import traceback
from io import TextIOWrapper
from typing import Any, NoReturn

THREAD_SECONDS = 1.0  # for a thread to end with the process
EXAMPLES = {
    "orchestrator setup": "set up a key, a model and a bot",
    "orchestrator run": "start the daemon; Ctrl-C ends it",
    "orchestrator chat": "talk to an agent, from a second terminal",
    "orchestrator status": "see what runs and what is wrong",
    'orchestrator send home "hello"': "ask the agent 'home' one thing",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - typer's application, loaded with its first use
    if name != "app":
        raise AttributeError(name)
    from orchestrator.cli.command_line import app  # noqa: PLC0415 - slow, and seldom needed

    return app


def main() -> None:
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, TextIOWrapper):  # None if the parent process closed it
            stream.reconfigure(errors="replace")  # invalid bytes never end in a traceback
    code: object = 1
    try:
        _run_words(sys.argv[1:])
    except SystemExit as ended:
        code = 0 if ended.code is None else ended.code
    except Exception:  # noqa: BLE001 - shown as Python itself would
        traceback.print_exc()
    _exit_process(code if isinstance(code, int) else 1)


def _run_words(words: list[str]) -> NoReturn:
    from orchestrator.cli.quick import run_quickly  # noqa: PLC0415 - after the streams are safe

    code = run_quickly(words)
    if code is None:
        from orchestrator.cli.command_line import app  # noqa: PLC0415 - slow, and seldom needed

        app(prog_name="orchestrator")
    sys.exit(code)


def _exit_process(code: int) -> NoReturn:
    """End the process, even if a thread is stuck in a file system that never answers."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(THREAD_SECONDS)
            if thread.is_alive():  # Python would wait for it for ever
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
    sys.exit(code)
