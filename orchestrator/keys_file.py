"""Read and change ``keys.env``: the keys and tokens of a home, one ``NAME=value`` a line.

A variable of the environment wins over the file. The file's values stay in the process that reads
it; they never become part of its environment, which children inherit.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.agentsfile.exposure import readable_by_others
from orchestrator.agentsfile.problems import Problem
from orchestrator.settings import VARIABLES
from orchestrator.timezones import is_zone, nearest_zone
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.providers import PROVIDERS, key_variables

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
KEY_VARS = key_variables()
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
    """The values by name, and every problem of the files they come from."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    problems: tuple[Problem, ...] = ()

    def under(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment, and from here what it does not set; empty counts as not set."""
        return {**self.values, **{name: value for name, value in environ.items() if value}}


def read(home: Path, environ: Mapping[str, str]) -> Keys:
    """Read the file of a home, and the credentials that systemd passes, which win.

    What cannot be read or understood is a problem; all other lines count.
    """
    keys = _read(home / NAME)
    own = (Problem("warning", ENVIRONMENT, 0, None, "", text) for text in _wrong_settings(environ))
    keys = Keys(keys.values, (*keys.problems, *_unread(home), *own))
    given = environ.get(CREDENTIALS)
    if not given:
        return keys
    credential = _read(Path(given) / NAME, optional=True)
    token = _token(Path(given) / TOKEN[0])
    problems = (*keys.problems, *credential.problems, *token.problems)
    return Keys({**keys.values, **token.values, **credential.values}, problems)


def environment(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the keys of a home; other functions tell its problems."""
    return read(home, environ).under(environ)


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Return the text of a file in which these names have these values.

    All other lines stay. A line "#NAME=" is used for its name.
    """
    for name, value in values.items():
        line = f"{name}={_quoted(value)}\n"
        parts = [(binding.key, binding.original.string) for _, binding in _bindings(text)]
        used = [place for place, (key, _) in enumerate(parts) if key == name]
        used = used or [place for place, (_, part) in enumerate(parts) if _offers(part, name)]
        if used:
            old = parts[used[-1]][1]
            blank = old[: len(old) - len(old.lstrip())]
            parts[used[-1]] = (name, blank + line)
            text = "".join(part for _, part in parts)
        else:
            text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    return text


def _offers(part: str, name: str) -> bool:
    return part.strip().removeprefix("#").strip() == f"{name}="


def _quoted(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _read(path: Path, *, optional: bool = False) -> Keys:
    try:
        text = regular_file.read_text(path, regular_file.KEYS)
    except FileMissingError:
        return Keys()
    except FileError as error:
        problem = Problem.unusable(path, f"cannot be read, so its keys are missing: {error}")
        return Keys(problems=(_warning(path, problem.message) if optional else problem,))
    problems = [] if optional else list(_place(path))
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, binding in _bindings(text):
        message = _wrong(binding)
        if message:
            problems.append(Problem.unusable(path, message, line))
        elif binding.key and binding.value:
            if binding.key in lines:
                message = f"{binding.key} replaces line {lines[binding.key]}; remove one of them"
                problems.append(_warning(path, message, line))
            found = binding.key, binding.value
            values[found[0]], lines[found[0]] = found[1], line
            doubts = *_doubts(binding.key, binding.value), *_wrong_settings(dict([found]))
            problems += [_warning(path, text, line) for text in doubts]
    if not optional:
        problems += _misnamed(path, lines)
    return Keys(values, tuple(problems))


def _doubts(name: str, value: str) -> Iterator[str]:
    """Yield what cannot be right about a value, without the value."""
    if name == TOKEN[1] and not BOT_TOKEN.fullmatch(value):
        yield f"{name} is not a bot's token; copy it from @BotFather, it looks like 123456:ABC-DEF"
    elif name in KEY_VARS and BOT_TOKEN.fullmatch(value):
        yield f"{name} has the token of a Telegram bot, which belongs in {TOKEN[1]}"
    elif name in KEY_VARS and not (value.isascii() and value.isprintable() and " " not in value):
        yield f"{name} has a space or another character that is in no key; copy the key alone"


def _wrong_settings(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with names that are nearly settings, and with a time zone."""
    for name, value in variables.items():
        if name[:4] not in BEGINNINGS:
            continue
        near = get_close_matches(name, VARIABLES, n=1, cutoff=0.88)
        if near and name not in VARIABLES and near[0] != TOKEN[1]:
            yield f"{name} has no effect; did you mean {near[0]}?"
        if name == ZONE and value and not is_zone(value):
            yield f"{ZONE} is no time zone that this machine knows; use {nearest_zone(value)}"


def _misnamed(path: Path, lines: Mapping[str, int]) -> Iterator[Problem]:
    """Yield a warning for each name that is nearly that of a key which the file does not set."""
    for name, line in lines.items():
        vendor = AROUND.sub("", name.upper())
        near = get_close_matches(vendor, VENDOR_NAMES, n=1, cutoff=0.85)
        meant = VENDOR_NAMES[near[0]] if near else TOKEN[1] if name == "BOT_TOKEN" else name
        if meant not in lines:
            yield _warning(
                path, f"{name} counts only where agents.json names it; did you mean {meant}?", line
            )


def _unread(home: Path) -> Iterator[Problem]:
    """Yield a warning for each file that is there instead of the one with keys."""
    for path in (home / name for name in UNREAD):
        if path.is_file():
            yield _warning(path, f"is not read; move its lines to {home / NAME}")


def _token(path: Path) -> Keys:
    """Read the credential that is the bot's token as it stands."""
    try:
        token = regular_file.read_text(path, regular_file.TOKEN).strip()
    except FileMissingError:
        return Keys()
    except FileError as error:
        return Keys(problems=(_warning(path, f"cannot be read, so it is not used: {error}"),))
    return Keys({TOKEN[1]: token} if token else {})


def _bindings(text: str) -> "Iterator[tuple[int, Binding]]":
    """Yield each assignment, and each text that is not one, with its line."""
    from dotenv.parser import parse_stream  # noqa: PLC0415 - only for those who have a file

    for binding in parse_stream(StringIO(text)):
        found = binding.original.string
        blank = len(found) - len(found.lstrip())
        yield binding.original.line + found.count("\n", 0, blank), binding


def _wrong(binding: "Binding") -> str:
    """Return what is wrong with a line, without its text, which may be a secret."""
    if binding.error or (binding.key is not None and binding.value is None):
        return 'is not NAME=value, so it is not used; write one key a line, and "#" before a remark'
    name = binding.key or ""
    if name and not (name.isidentifier() and name.isascii()):
        return "begins with what is not a name; write letters, digits and _ before the ="
    if name == HOME:
        return f"{HOME} has no effect here, as the file is in it; set it in the environment"
    return "has a NUL character; remove it" if "\0" in (binding.value or "") else ""


def _place(path: Path) -> Iterator[Problem]:
    """Yield a warning if others may read the file, or if it is out of the home's protection."""
    yield from readable_by_others(path, WHY)
    real = Path(os.path.realpath(path))
    if real.parent != Path(os.path.realpath(path.parent)):
        yield _warning(path, f"links to {real}, where tool servers may read it; put the file here")


def _warning(path: Path, message: str, line: int = 0) -> Problem:
    return Problem("warning", str(path), line, None, "", message)
