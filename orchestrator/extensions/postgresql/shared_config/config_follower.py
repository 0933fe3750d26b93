"""Update this machine's files to the newest shared configuration.

Where: does a pushed configuration reach other machines?
"""

import anyio
import structlog

from orchestrator.errors import ConfigError, JournalError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.postgresql.nodes.placer import Placer
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.extensions.postgresql.shared_config import config_placing, pushed_config
from orchestrator.extensions.postgresql.shared_config.config_placing import (
    AppliedVersion,
    SeenFiles,
)
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal_address import DatabaseServer
from orchestrator.placement import Placement
from orchestrator.settings import Settings

LOOK = 2.0  # seconds between two checks
SHOWN = 3  # files that a hint names
NOT_BROUGHT = "the pushed configuration could not be applied here: {why}; it will be retried"
log = structlog.get_logger()


class ConfigFollower(Part):
    """Follows the newest version while the daemon works; hints list local differences."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._hints: tuple[str, ...] = ()
        self._store = daemon.store
        self._settings = daemon.settings
        self._in_thread = daemon.machine.in_thread
        self._seen: SeenFiles = {}
        self._is_current = self._is_pushed = False
        self._placer: Placer | None = None

    def build_placement(self) -> Placement | None:
        storage = self._store.storage
        if self._settings.node_url and isinstance(storage, PostgresStorage):
            self._placer = Placer(self.daemon, storage, self.is_usable)
        return self._placer

    def is_usable(self) -> bool:
        """Return whether the daemon works with the newest version, or none was pushed.

        It may have the files, and not be able to use them, for instance without a key.
        """
        configuration = self.daemon.configuration
        problems = (one.severity for one in configuration.problems)
        refused = self._is_pushed and (configuration.fallen_back or "error" in problems)
        return self._is_current and not refused

    async def run(self) -> None:
        """Follow the shared configuration, and place groups of agents, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_configuration)
            if self._placer is not None:
                tasks.start_soon(self._placer.run)

    async def _follow_configuration(self) -> None:
        """Check for a newer version until cancelled."""
        while True:
            try:
                self._hints = await self._follow_newest()
                self._is_current = True
            except (OSError, ConfigError, JournalError) as error:
                hint = _describe_failure(self._settings, error)
                if self._hints != (hint,):
                    log.error("config_not_brought", problem=hint)
                self._hints = (hint,)
                # A server that is away for a moment has no newer version.
                self._is_current &= isinstance(error, JournalError)
            await anyio.sleep(LOOK)

    def list_hints(self) -> tuple[str, ...]:
        return self._hints

    async def _follow_newest(self) -> tuple[str, ...]:
        paths = self._settings.paths
        known = await self._in_thread(config_placing.load_applied_version, paths)
        version, files = await self._store.read(
            pushed_config.load_newer_files, known.version, known.digest
        )
        self._is_pushed = version is not None
        if version is None:
            return ()
        if files:
            known = await self._in_thread(config_placing.place_version, paths, version, files)
        edits, self._seen = await self._in_thread(
            config_placing.list_local_edits, paths, known, self._seen
        )
        return describe_differences(self._settings, known, edits)


def update_home(settings: Settings, server: DatabaseServer) -> None:
    """Update the home to the newest version, before a daemon reads it; log a failure.

    Raises:
        JournalError: the journal cannot be read.
    """
    known = config_placing.load_applied_version(settings.paths)
    with open_for_reading(server) as db:
        version, files = pushed_config.load_newer_files(db, known.version, known.digest)
    if version is not None and files:
        try:
            config_placing.place_version(settings.paths, version, files)
        except (OSError, ConfigError) as error:
            log.error("config_not_brought", problem=_describe_failure(settings, error))


def _describe_failure(settings: Settings, error: Exception) -> str:
    """Describe a failure, in the same words each time."""
    why = str(error)
    if isinstance(error, OSError):  # the error names a file whose name changes each time
        advice = "free some space or fix its permissions"
        why = f"{settings.home} cannot be written ({error.strerror}); {advice}"
    return NOT_BROUGHT.format(why=why)


def describe_differences(
    settings: Settings, known: AppliedVersion, edits: tuple[str, ...]
) -> tuple[str, ...]:
    """Describe local differences from the pushed version."""
    found = []
    if edits:
        shown, more = ", ".join(edits[:SHOWN]), len(edits) - SHOWN
        text = f"{shown} and {more} more differ" if more > 0 else f"{shown} differ"
        found.append(
            f"{text}{'s' if len(edits) == 1 else ''} from the pushed version {known.version};"
            " run: orchestrator config push"
        )
    if settings.config is not None and settings.config != settings.home / "agents.json":
        found.append(
            f"ORCHESTRATOR_CONFIG names {settings.config}, so the pushed agents.json is not used"
            " here; unset it"
        )
    return tuple(found)
