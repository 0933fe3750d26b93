"""The two homes of a move: how a step runs in each journal, with or without a daemon."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import anyio

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFile, load_agents_file
from orchestrator.cli.client import ask_daemon, connect_to_daemon
from orchestrator.cli.other_user import require_access, require_owner
from orchestrator.control import protocol
from orchestrator.control.protocol import ReloadReport, StatusReport
from orchestrator.errors import AlreadyRunningError, ConfigError, NotRunningError
from orchestrator.extensions.relocation.journal_steps import StepReport, StepRequest, run_step
from orchestrator.extensions.relocation.relocation_part import STEP
from orchestrator.files import write_private
from orchestrator.home_paths import HOME_VARIABLE
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading, open_for_writing
from orchestrator.journal_address import SCHEMES
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock

PATIENCE = 600.0  # seconds for a step: all rows of an agent may be many
STORE = "ORCHESTRATOR_STORE"


@dataclass(frozen=True)
class Home:
    """A home, with the settings and the variables that its daemon would have."""

    settings: Settings
    environ: dict[str, str]

    @property
    def name(self) -> str:
        return str(self.settings.home)

    @property
    def agents_path(self) -> Path:
        """The agents.json that is edited: never the bundled one."""
        return self.settings.config or self.settings.home / "agents.json"

    def load_agents(self) -> AgentsFile:
        """Read agents.json as the daemon of this home would.

        Raises:
            AgentsFileError: the file cannot be used.
        """
        return load_agents_file(self.settings.find_agents_file(), self.environ).file

    def find_status(self) -> StatusReport | None:
        """Return the state of the home's daemon; None if none runs."""
        try:
            return ask_daemon(self.settings, protocol.STATUS, None, StatusReport)
        except NotRunningError:
            return None

    def reload(self) -> None:
        """Let the daemon, if one runs, read agents.json again.

        Raises:
            ConfigError: it does not take the file.
        """
        try:
            report = ask_daemon(self.settings, protocol.RELOAD, None, ReloadReport)
        except NotRunningError:
            return
        if not report.applied:
            errors = [str(one) for one in report.problems if one.severity == "error"]
            raise ConfigError(f"the daemon of {self.name} does not take its agents.json: {errors}")

    def run_step(self, request: StepRequest) -> StepReport:
        """Run a step in the home's journal: in its daemon, or here if none runs.

        Raises:
            AlreadyRunningError: a daemon of another home has the journal.
            OrchestratorError: the step is impossible; the message says what to do.
        """
        try:
            return anyio.run(self._ask_daemon, request)
        except NotRunningError:
            require_owner(self.settings.home)
            self.settings.paths.create_directories()
        try:
            with (
                redirect_stdout(sys.stderr),  # the log says that a new journal was made
                hold_lock(self.settings),
                open_for_writing(self.settings.journal) as db,
            ):
                return run_step(db, request, time.time_ns() // 1_000_000)
        except AlreadyRunningError as error:
            raise AlreadyRunningError(
                f"{error}; or give the home of the daemon that has it, on its machine"
            ) from error

    @property
    def has_journal(self) -> bool:
        """Whether there is a journal, as far as that shows without opening one."""
        journal = self.settings.journal
        return not isinstance(journal, Path) or os.path.lexists(journal)

    def require_folder(self) -> None:
        """Raise `ConfigError` if the home is not there: a step would make a new one."""
        if not self.settings.home.is_dir():
            raise ConfigError(f"{self.name} is not there; mount it, or put it back")

    def keep_address(self) -> None:
        """Write the address of the journal into the home's keys.env, unless it is there."""
        address, path = self.environ.get(STORE), self.settings.paths.keys
        if address is None or STORE in keys_file.read_keys(self.settings.home, {}).values:
            return
        self.settings.paths.create_directories()
        text = path.read_text("utf-8") if path.exists() else ""
        text += "" if not text or text.endswith("\n") else "\n"
        write_private(path, f"{text}{STORE}='{address}'\n".encode())

    async def _ask_daemon(self, request: StepRequest) -> StepReport:
        async with connect_to_daemon(self.settings) as peer:
            return await peer.call(STEP, request, StepReport, timeout=PATIENCE)

    @contextmanager
    def read_journal(self) -> Iterator[Database]:
        """Read one state of the journal.

        Raises:
            JournalError: the home has no journal.
        """
        with open_for_reading(self.settings.journal) as db:
            yield db


def open_source(settings: Settings) -> Home:
    """Return the home of this command, with the variables of this shell."""
    return Home(settings, keys_file.load_environment(settings.home, os.environ))


def open_target(source: Settings, agent_id: str, to: str) -> Home:
    """Return the home that ``to`` names: a folder, or a database with a new home beside the source.

    Variables of this shell are those of the source, so that the target has its keys.env alone.

    Raises:
        ConfigError: ``to`` names neither, or the source itself.
    """
    if to.startswith(SCHEMES):
        folder = source.home.with_name(f"{source.home.name}-{agent_id}")
        given = {STORE: to}
    else:
        if "://" in to:
            raise ConfigError(f"--to: {to} is neither a folder nor begins with {SCHEMES[0]}")
        folder, given = Path(to).expanduser().absolute(), {}
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"--to: {folder} is a file; give the folder of a home")
    require_access(folder)
    keys = keys_file.read_keys(folder, {}).values
    if given and keys.get(STORE, to) != to:
        raise ConfigError(f"--to: {folder} has another journal; give that folder, or move it away")
    environ = {**keys, **given, HOME_VARIABLE: str(folder)}
    settings = Settings.read_environ(environ)
    if settings.home.resolve() == source.home.resolve() or settings.journal == source.journal:
        raise ConfigError(f"--to: {to} is the home of the agent itself; give another one")
    return Home(settings, environ)
