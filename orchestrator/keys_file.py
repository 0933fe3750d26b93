"""Read and change ``keys.env``: the keys and tokens of a home, one ``NAME=value`` a line.

A variable of the environment wins over the file. The file's values stay in the process that reads
it; they never become part of its environment, which children inherit.

Where: is keys.env read?
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.agentsfile.exposure import check_other_readers
from orchestrator.config_problem import Problem
from orchestrator.settings import VARIABLES
from orchestrator.timezones import is_known_zone, suggest_zone
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.providers import PROVIDERS, list_key_variables

if TYPE_CHECKING:  # the library takes longer than most commands, which find no file
    from dotenv.parser import Binding

NAME = "keys.env"
TOKEN = ("telegram-token", "TELEGRAM_BOT_TOKEN")  # a credential with nothing but a token
CREDENTIALS = "CREDENTIALS_DIRECTORY"  # set by systemd for a unit with credentials
ENVIRONMENT = "environment"  # in place of a file's name
ZONE = "USER_TIMEZONE"
BEGINNINGS = frozenset(name[:4] for name in (*VARIABLES, ZONE))
HOME = "ORCHESTRATOR_HOME"
WHY = "it holds keys"
UNREAD = (".env", "key.env", "keys", "keys.txt", "keys.env.txt")  # where keys are put instead
KEY_VARS = list_key_variables()
AROUND = re.compile("API|KEY|TOKEN|BOT|_")  # what a name has besides that of a vendor
VENDOR_NAMES = {AROUND.sub("", name): name for name in (*sorted(KEY_VARS), TOKEN[1])}
VENDOR_NAMES |= {
    alias.upper(): provider.key_var
    for provider in PROVIDERS.values()
    for alias in provider.aliases
    if provider.key_var
}
BOT_TOKEN = re.compile(r"\d+:[\w-]+", re.ASCII)
PLAIN = re.compile(r"[A-Za-z0-9_.:/+=@~-]*")  # values that need no quotes


@dataclass(frozen=True)
class Keys:
    """The values, keyed by name, and the problems of the files they come from."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    problems: tuple[Problem, ...] = ()

    def merge_under(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment, completed by these values; an empty variable counts as unset."""
        return {**self.values, **{name: value for name, value in environ.items() if value}}


def read_keys(home: Path, environ: Mapping[str, str]) -> Keys:
    """Read the keys of a home, and systemd's credentials, which win.

    Lines that cannot be understood become problems; all others count.
    """
    keys = _read_key_file(home / NAME)
    own = (Problem("warning", ENVIRONMENT, 0, None, text) for text in _check_variables(environ))
    keys = Keys(keys.values, (*keys.problems, *_check_unread_files(home), *own))
    given = environ.get(CREDENTIALS)
    if not given:
        return keys
    credential = _read_key_file(Path(given) / NAME, optional=True)
    token = _read_token(Path(given) / TOKEN[0])
    problems = (*keys.problems, *credential.problems, *token.problems)
    return Keys({**keys.values, **token.values, **credential.values}, problems)


def load_environment(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the keys of a home, ignoring problems."""
    return read_keys(home, environ).merge_under(environ)


def _read_key_file(path: Path, *, optional: bool = False) -> Keys:
    try:
        text = regular_file.read_text(path, regular_file.KEYS)
    except FileMissingError:
        return Keys()
    except FileError as error:
        problem = Problem.build_unusable(path, f"cannot be read, so its keys are missing: {error}")
        return Keys(problems=(_build_warning(path, problem.message) if optional else problem,))
    problems = [] if optional else list(_check_place(path))
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, binding in parse_bindings(text):
        message = _find_line_problem(binding)
        if message:
            problems.append(Problem.build_unusable(path, message, line))
        elif binding.key and binding.value:
            if binding.key in lines:
                message = f"{binding.key} replaces line {lines[binding.key]}; remove one of them"
                problems.append(_build_warning(path, message, line))
            found = binding.key, binding.value
            values[found[0]], lines[found[0]] = found[1], line
            doubts = *_check_value(binding.key, binding.value), *_check_variables(dict([found]))
            problems += [_build_warning(path, text, line) for text in doubts]
    if not optional:
        problems += _check_key_names(path, lines)
    return Keys(values, tuple(problems))


def _check_value(name: str, value: str) -> Iterator[str]:
    """Yield the problems of a value, without showing it."""
    if name.startswith(TOKEN[1]) and not BOT_TOKEN.fullmatch(value):
        yield f"{name} is not a bot's token; copy it from @BotFather, it looks like 123456:ABC-DEF"
    elif name in KEY_VARS and BOT_TOKEN.fullmatch(value):
        yield f"{name} has the token of a Telegram bot, which belongs in {TOKEN[1]}"
    elif name in KEY_VARS and not (value.isascii() and value.isprintable() and " " not in value):
        yield f"{name} has a space or another character that is in no key; copy the key alone"


def _check_variables(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the problems of near-miss setting names, and of a time zone."""
    for name, value in variables.items():
        if name[:4] not in BEGINNINGS:
            continue
        near = get_close_matches(name, VARIABLES, n=1, cutoff=0.88)
        if near and name not in VARIABLES and near[0] != TOKEN[1]:
            yield f"{name} has no effect; did you mean {near[0]}?"
        if name == ZONE and value and not is_known_zone(value):
            yield f"{ZONE} is not a time zone that this machine knows; use {suggest_zone(value)}"


def _check_key_names(path: Path, lines: Mapping[str, int]) -> Iterator[Problem]:
    """Warn about each name that nearly matches a key which is not set."""
    for name, line in lines.items():
        if name.startswith(TOKEN[1]):  # of an account
            continue
        vendor = AROUND.sub("", name.upper())
        near = get_close_matches(vendor, VENDOR_NAMES, n=1, cutoff=0.85)
        meant = VENDOR_NAMES[near[0]] if near else TOKEN[1] if name == "BOT_TOKEN" else name
        if meant not in lines:
            yield _build_warning(
                path, f"{name} counts only where agents.json names it; did you mean {meant}?", line
            )


def _check_unread_files(home: Path) -> Iterator[Problem]:
    """Warn about each misnamed keys file that is ignored."""
    for path in (home / name for name in UNREAD):
        if path.is_file():
            yield _build_warning(path, f"is not read; move its lines to {home / NAME}")


def _read_token(path: Path) -> Keys:
    """Read the credential that is the bot's token, as it is."""
    try:
        token = regular_file.read_text(path, regular_file.TOKEN).strip()
    except FileMissingError:
        return Keys()
    except FileError as error:
        return Keys(problems=(_build_warning(path, f"cannot be read, so it is not used: {error}"),))
    return Keys({TOKEN[1]: token} if token else {})


def parse_bindings(text: str) -> "Iterator[tuple[int, Binding]]":
    """Yield each assignment, and any other text, with its line number."""
    from dotenv.parser import parse_stream  # noqa: PLC0415 - only for those who have a file

    for binding in parse_stream(StringIO(text)):
        found = binding.original.string
        blank = len(found) - len(found.lstrip())
        yield binding.original.line + found.count("\n", 0, blank), binding


def _find_line_problem(binding: "Binding") -> str:
    """Return the problem of a line, without its text, which may be a secret."""
    if binding.error or (binding.key is not None and binding.value is None):
        return 'is not NAME=value, so it is not used; write one key a line, and "#" before a remark'
    name = binding.key or ""
    if name and not (name.isidentifier() and name.isascii()):
        return "begins with what is not a name; write letters, digits and _ before the ="
    if name == HOME:
        return f"{HOME} has no effect here, as the file is in it; set it in the environment"
    return "has a NUL character; remove it" if "\0" in (binding.value or "") else ""


def _check_place(path: Path) -> Iterator[Problem]:
    """Warn if others may read the file, or if it lies outside the protected home."""
    yield from check_other_readers(path, WHY)
    real = Path(os.path.realpath(path))
    if real.parent != Path(os.path.realpath(path.parent)):
        yield _build_warning(
            path, f"links to {real}, where tool servers may read it; put the file here"
        )


def _build_warning(path: Path, message: str, line: int = 0) -> Problem:
    return Problem("warning", str(path), line, None, message)
