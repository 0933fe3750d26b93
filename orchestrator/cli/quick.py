"""Run the daemon, and the commands that scripts repeat, without typer, which takes longer to load.

Whatever is not plain, such as an unknown option or a daemon that is away, is left to the whole
command line, which explains it.

Where: are the commands that scripts repeat made fast?
"""

import errno
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.errors import ExitCode, OrchestratorError
from orchestrator.home_paths import HOME_VARIABLE

DEFAULT_HOME = "~/.orchestrator"
FLAGS: Mapping[str, Mapping[str, str]] = {
    "health": {"--ready": "ready", "--json": "as_json"},
    "status": {"--json": "as_json"},
    "check": {"--json": "as_json"},
    "run": {},
}
"""The options of each quick command besides ``--home``, with the parameters that they set."""


def run_quickly(words: Sequence[str]) -> int | None:
    """Run a plain command and return its exit code; None leaves the words to typer."""
    try:
        return _run_words(list(words))
    except OrchestratorError as error:
        from orchestrator.cli.output import print_text  # noqa: PLC0415 - seldom needed

        print_text(str(error), err=True)
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - Python flushes it at its end
        return ExitCode.FAILED


def _run_words(words: list[str]) -> int | None:
    if words in (["--help"], ["-h"]):
        from orchestrator.cli.first_screen import print_first_screen  # noqa: PLC0415 - one of many

        return print_first_screen()
    if not words or words[0] not in FLAGS:
        return None
    parsed = _parse_options(words[1:], FLAGS[words[0]])
    if parsed is None:
        return None
    runs = {"check": _check_files, "run": _run_daemon}
    return runs.get(words[0], _ask_daemon)(words[0], *parsed)


def _parse_options(
    words: Sequence[str], known: Mapping[str, str]
) -> tuple[str, dict[str, bool]] | None:
    """Return the home, empty if it is not given, and the flags; None for any other word."""
    home, flags = "", {}
    rest = iter(words)
    for word in rest:
        name, given, value = word.partition("=")
        if name == "--home":
            home = value if given else next(rest, "")
            if not home.isprintable() or not home or home.startswith("-"):
                return None
        elif word in known:
            flags[known[word]] = True
        else:
            return None
    return home, flags


def _ask_daemon(method: str, home: str, flags: Mapping[str, bool]) -> int | None:
    from orchestrator.cli import daemon_reports  # noqa: PLC0415 - `--help` needs none of it
    from orchestrator.control.daemon_answer import find_answer  # noqa: PLC0415 - as above

    variables = (value for name, value in os.environ.items() if name.upper() == HOME_VARIABLE)
    found = home or next(filter(None, variables), DEFAULT_HOME)
    try:
        report = find_answer(Path(found).expanduser().absolute(), method)
        return daemon_reports.PRINTERS[method](report, **flags) if report is not None else None
    except (RuntimeError, AttributeError):  # no such user, or a daemon of another version
        return None


def _check_files(_: str, home: str, flags: Mapping[str, bool]) -> int:
    from thinker.http.optional_imports import block_imports  # noqa: PLC0415 - `health` needs none

    gc.disable()  # the process ends before that pays
    _skip_plugins()
    with block_imports("rich"):  # structlog would load it for colours
        from orchestrator.cli.check_report import print_check  # noqa: PLC0415 - slow

    return print_check(Path(home) if home else None, as_json="as_json" in flags)


def _run_daemon(_: str, home: str, __: Mapping[str, bool]) -> int:
    from thinker.http.optional_imports import block_imports  # noqa: PLC0415 - `health` needs none

    _skip_plugins()
    with block_imports("rich", "click"):
        from orchestrator.cli.daemon_start import start_daemon  # noqa: PLC0415 - slow

    return start_daemon(Path(home) if home else None)


def _skip_plugins() -> None:
    """Keep pydantic from looking through all packages for plugins."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
