"""List, set and remove the keys of a home while its daemon runs; no answer has a value."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from pydantic import JsonValue

from orchestrator import keys_file
from orchestrator.agentsfile import references
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import DaemonView
from orchestrator.extensions.setup.agents_text import AgentsText, copy_bundled
from orchestrator.extensions.setup.key_lines import remove_value, replace_values
from orchestrator.extensions.setup.key_users import find_key_users
from orchestrator.extensions.setup.setup_requests import (
    KeyList,
    KeyName,
    KeyOutcome,
    KeyReport,
    KeyValue,
)
from orchestrator.files import write_private
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError
from thinker.protocol.peer import RpcError
from thinker.protocol.providers import list_key_variables

MAX_NAME = 200  # characters
# What begins the names of settings of this program, and of programs that it starts.
OTHERS = ("ORCHESTRATOR_", "THINKER_", "LD_", "DYLD_", "PYTHON", "BASH_", "GIT_", "NODE_")
PLACES = ("PATH", "HOME", "SHELL", "TMPDIR")
STORED, ELSEWHERE = "keys.env", "environment"
WRONG_NAME = (
    "{name!r} is not the name of a key; write letters, digits and _, such as OPENAI_API_KEY"
)
WRONG_VALUE = "the value of {name} must be one line without control characters"
NO_KEY = "{name} is a setting of programs, not a key; set it where the daemon is started"
FIXED = (
    "{name} is set in the environment of the daemon, which wins over keys.env; change it where the"
    " daemon is started"
)
TOO_LARGE = "{path} would be too large; remove keys that are no longer needed"
LINKED = "{path} links to {real}, so it is not changed here; edit that file"


@dataclass(frozen=True)
class StoredKeys:
    """The keys of a daemon's home."""

    daemon: DaemonView
    text: AgentsText
    _writing: anyio.Lock = field(default_factory=anyio.Lock)

    async def read_stored(self) -> Mapping[str, str]:
        """Return the keys of keys.env."""
        return (
            await self.daemon.machine.off_loop(
                keys_file.read_keys, self.daemon.settings.home, dict[str, str]()
            )
        ).values

    async def list_keys(self, params: JsonValue) -> KeyList:
        """Return the names of all keys that are set or needed."""
        del params
        daemon, stored = self.daemon, await self.read_stored()
        users = await self._find_users()
        known = list_key_variables(daemon.get_agents_file().known_providers)
        found = {name for name in known if daemon.environ.get(name)}
        return KeyList(
            keys=tuple(
                KeyReport(
                    name=name,
                    set=bool(daemon.environ.get(name)),
                    origin=self._find_origin(name, stored),
                    users=users.get(name, ()),
                )
                for name in sorted(found.union(stored, users))
            )
        )

    async def _find_users(self) -> Mapping[str, tuple[str, ...]]:
        """Return what uses each key; of an agents.json that cannot be read only what is in force.

        A key may be what it lacks.
        """
        document: JsonValue = None
        with suppress(OrchestratorError, RpcError):
            _, document = await self.text.read_value()
        return find_key_users(document, self.daemon.get_agents_file(), self.daemon.environ)

    async def set_key(self, params: JsonValue) -> KeyOutcome:
        """Store a key, which is in force then.

        Raises:
            OrchestratorError: the name or the value cannot be that of a key, or the environment of
            the daemon sets it.
        """
        asked = KeyValue.model_validate(params)
        name = parse_key_name(asked.name)
        await self.store_values({name: parse_value(name, asked.value)})
        return KeyOutcome(name=name, text=f"{name} is set, and in use from now on")

    async def remove_key(self, params: JsonValue) -> KeyOutcome:
        """Remove a key from keys.env; it is no longer used then.

        Raises:
            OrchestratorError: keys.env does not have it.
        """
        name = KeyName.model_validate(params).name
        stored = await self.read_stored()
        if name not in stored:
            if self.daemon.environ.get(name):
                raise OrchestratorError(FIXED.format(name=name))
            raise UnknownNameError(f"no key {name!r} is set")
        users = (await self._find_users()).get(name, ())
        await self._change_file(lambda text: remove_value(text, name))
        text = f"{name} is removed"
        if self.daemon.environ.get(name):
            text += ", but the environment sets it as well"
        elif users:
            text += f"; it was used by {', '.join(users)}"
        return KeyOutcome(name=name, text=text)

    async def require_changeable(self, name: str, value: str) -> None:
        """Refuse to store a value that the daemon's environment would hide."""
        origin = self._find_origin(name, await self.read_stored())
        if origin == ELSEWHERE and self.daemon.environ[name] != value:
            raise OrchestratorError(FIXED.format(name=name))

    def _find_origin(self, name: str, stored: Mapping[str, str]) -> str:
        """Return where a key in force comes from; empty if it is not set.

        A credential of systemd counts as the environment.
        """
        there = self.daemon.environ.get(name)
        if not there:
            return ""
        inside = name not in self.daemon.configuration.environment and stored.get(name) == there
        return STORED if inside else ELSEWHERE

    async def store_values(self, values: Mapping[str, str]) -> None:
        """Store keys that `parse_key_name` and `parse_value` return; they are in force then."""
        for name, value in values.items():
            await self.require_changeable(name, value)
        if values:
            await self._change_file(partial(replace_values, values=values))

    async def _change_file(self, change: Callable[[str], str]) -> None:
        path = self.daemon.settings.paths.keys
        async with self._writing:
            await self.daemon.machine.in_thread(_rewrite_file, path, change)
        await self.daemon.operations.reload_configuration()


def parse_key_name(name: str) -> str:
    """Return a name that a key can have.

    Raises:
        OrchestratorError: it is another one.
    """
    name = name.strip()
    if len(name) > MAX_NAME or not references.NAME.fullmatch(name):
        raise OrchestratorError(WRONG_NAME.format(name=name))
    if name.upper().startswith(OTHERS) or name.upper() in PLACES:
        raise OrchestratorError(NO_KEY.format(name=name))
    return name


def parse_value(name: str, value: str) -> str:
    """Return a value as it is stored, without space around it.

    Raises:
        OrchestratorError: it is empty, or more than a line.
    """
    value = value.strip()
    if not value or not value.isprintable():
        raise OrchestratorError(WRONG_VALUE.format(name=name))
    return value


def _rewrite_file(path: Path, change: Callable[[str], str]) -> None:
    """Replace keys.env by what ``change`` makes of it; the first one has the usual remarks."""
    if path.is_symlink():
        raise OrchestratorError(LINKED.format(path=path, real=path.resolve()))
    copy_bundled(keys_file.NAME, path.parent)
    try:
        data = change(regular_file.read_text(path, regular_file.KEYS)).encode()
        if len(data) > regular_file.KEYS.max_bytes:  # it could not be read any more
            raise OrchestratorError(TOO_LARGE.format(path=path))
        write_private(path, data)
    except (FileError, OSError) as error:
        raise OrchestratorError(f"{path} cannot be changed: {error}") from error
