"""Bring this machine's files to the newest version of the shared configuration."""

import anyio
import structlog

from orchestrator.errors import ConfigError, JournalError
from orchestrator.files import OffLoop
from orchestrator.journal.access import pushed_config
from orchestrator.journal.db.store import Store
from orchestrator.journal.opening import reading
from orchestrator.journal_address import DatabaseServer
from orchestrator.pushed import config_placing
from orchestrator.pushed.config_placing import Brought, Seen
from orchestrator.settings import Settings

LOOK = 2.0  # seconds between two looks
SHOWN = 3  # files that a hint names
NOT_BROUGHT = "the pushed configuration is not whole here: {why}; it is tried again"
log = structlog.get_logger()


class ConfigFollower:
    """Follows the newest version while the daemon works; ``hints`` say what differs here.

    Nothing is done with a journal in a file: the files of its only machine are the configuration.
    ``in_thread`` does blocking work to its end.
    """

    def __init__(self, store: Store, settings: Settings, in_thread: OffLoop) -> None:
        self.hints: tuple[str, ...] = ()
        self._store = store
        self._settings = settings
        self._in_thread = in_thread
        self._seen: Seen = {}

    async def run(self) -> None:
        """Look for a newer version until canceled."""
        while isinstance(self._store.address, DatabaseServer):
            try:
                self.hints = await self._look()
            except (OSError, ConfigError, JournalError) as error:
                hint = _not_brought(self._settings, error)
                if self.hints != (hint,):
                    log.error("config_not_brought", problem=hint)
                self.hints = (hint,)
            await anyio.sleep(LOOK)

    async def _look(self) -> tuple[str, ...]:
        paths = self._settings.paths
        known = await self._in_thread(config_placing.brought, paths)
        version, files = await self._store.read(
            pushed_config.other_than, known.version, known.digest
        )
        if version is None:
            return ()
        if files:
            known = await self._in_thread(config_placing.place, paths, version, files)
        edits, self._seen = await self._in_thread(
            config_placing.local_edits, paths, known, self._seen
        )
        return hints(self._settings, known, edits)


def bring(settings: Settings) -> None:
    """Bring the home to the newest version, before a daemon reads it; a failure is logged.

    Raises:
        JournalError: the journal cannot be read.
    """
    if not isinstance(settings.journal, DatabaseServer):
        return
    known = config_placing.brought(settings.paths)
    with reading(settings.journal) as db:
        version, files = pushed_config.other_than(db, known.version, known.digest)
    if version is not None and files:
        try:
            config_placing.place(settings.paths, version, files)
        except (OSError, ConfigError) as error:
            log.error("config_not_brought", problem=_not_brought(settings, error))


def _not_brought(settings: Settings, error: Exception) -> str:
    """Say what is wrong, in the same words each time."""
    why = str(error)
    if isinstance(error, OSError):  # it names a file that has another name the next time
        why = f"{settings.home} cannot be written ({error.strerror}); make room or correct its mode"
    return NOT_BROUGHT.format(why=why)


def hints(settings: Settings, known: Brought, edits: tuple[str, ...]) -> tuple[str, ...]:
    """Say what this machine does not have as it was pushed."""
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
