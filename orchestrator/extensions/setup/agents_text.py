"""Read and save agents.json in a running daemon: by its editor, which keeps versions, if any."""

import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import anyio
from pydantic import JsonValue

from orchestrator.agentsfile.positions import JsonSyntaxError, parse_json_document
from orchestrator.control import editing
from orchestrator.control.editing import EditReport, FileEdit, FileText, VersionName
from orchestrator.errors import ConfigError, OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.files import write_private
from orchestrator.home_paths import find_bundled_path
from orchestrator.settings import Settings
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.peer import RequestHandler

NAME = "agents.json"
SCHEMA = "agents.schema.json"  # for editors; agents.json names it
BY = "operator"  # who reads
MEANWHILE = "agents.json was changed meanwhile, so nothing was saved; look at it and try again"
REFUSED = "nothing was saved: {problem}"


def find_agents_file(settings: Settings) -> Path:
    """Return the file to write, existing or not."""
    return settings.config or settings.home / NAME


def write_agents_text(path: Path, text: str) -> None:
    """Replace the file atomically; its mode stays, and a link to it stays one."""
    real = Path(os.path.realpath(path))
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
    write_private(real, text.encode(), mode)


def copy_file(source: Path, target: Path) -> bool:
    """Copy a file, readable only by this user; return False if the target exists."""
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(source.read_bytes())
    except FileExistsError:
        return False
    except OSError as error:
        raise ConfigError(
            f"{target} cannot be written ({error.strerror}); choose a directory that you own"
        ) from error
    return True


def copy_bundled(name: str, folder: Path) -> bool:
    """Copy a file of a new home into a folder, unless there is one; return whether it was."""
    return copy_file(find_bundled_path("config") / name, folder / name)


@dataclass(frozen=True)
class AgentsText:
    """The agents.json of a daemon, which has the bundled one until the first is saved."""

    daemon: DaemonView
    _writing: anyio.Lock = field(default_factory=anyio.Lock)

    async def read_text(self) -> FileText:
        """Return the present text, with the digest that a save needs.

        Raises:
            ConfigError: the file cannot be read.
        """
        handler = self._find_handler(editing.FILE_READ, BY)
        if handler is not None:
            answer = await handler(VersionName(name=NAME).model_dump(by_alias=True))
            return FileText.model_validate(answer, from_attributes=True)
        path = self.daemon.configuration.path
        try:
            text = await self.daemon.machine.off_loop(
                regular_file.read_text, path, regular_file.AGENTS_FILE
            )
        except (FileError, TimeoutError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        return FileText(name=NAME, text=text, base=_digest(text), where=str(path))

    async def read_value(self) -> tuple[FileText, JsonValue]:
        """Return the present text, and what it says as JSON.

        Raises:
            ConfigError: the file cannot be read, or is not JSON.
        """
        found = await self.read_text()
        try:
            return found, parse_json_document(found.text).value
        except JsonSyntaxError as error:
            raise ConfigError(f"agents.json:{error.line}: {error}; correct it first") from None

    async def save_text(self, text: str, base: str, why: str, by: str) -> None:
        """Save a text that began as the one with this digest; it is in force then.

        ``by`` is who wants that, and ``why`` is kept with the version.

        Raises:
            OrchestratorError: the text has an error, or another one came meanwhile.
        """
        handler = self._find_handler(editing.FILE_SAVE, by)
        if handler is None:
            async with self._writing:
                await self._write_text(text, base)
            return
        edit = FileEdit(name=NAME, base=base, text=text, why=why)
        report = EditReport.model_validate(
            await handler(edit.model_dump(by_alias=True)), from_attributes=True
        )
        if report.conflict:
            raise OrchestratorError(MEANWHILE)
        if not report.saved:
            reason = report.explain_refusal() or "it has no effect"
            raise OrchestratorError(REFUSED.format(problem=reason))

    def _find_handler(self, method: str, by: str) -> RequestHandler | None:
        return self.daemon.control.build_methods_for(by).get(method)

    async def _write_text(self, text: str, base: str) -> None:
        """Write the file and put it in force; after a refusal the file is as it was."""
        daemon, before = self.daemon, await self.read_text()
        if before.base != base:
            raise OrchestratorError(MEANWHILE)
        path = find_agents_file(daemon.settings)
        old = before.text if before.where == str(path) else None  # None: it was the bundled one
        await daemon.machine.in_thread(_replace_file, path, old, text)
        report = await daemon.operations.reload_configuration()
        if not report.applied:
            await daemon.machine.in_thread(_replace_file, path, text, old)
            await daemon.operations.reload_configuration()
            wrong = next((one for one in report.problems if one.severity == "error"), None)
            raise OrchestratorError(REFUSED.format(problem=wrong or "agents.json has an error"))


def _replace_file(path: Path, old: str | None, text: str | None) -> None:
    """Write the file, or remove it for None, if it still has the old text: editors write it too."""
    try:
        present = regular_file.read_text(path, regular_file.AGENTS_FILE)
    except FileMissingError:
        present = None
    except FileError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if present != old:
        raise OrchestratorError(MEANWHILE)
    if text is None:
        path.unlink(missing_ok=True)
        return
    copy_bundled(SCHEMA, path.parent)
    write_agents_text(path, text)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
