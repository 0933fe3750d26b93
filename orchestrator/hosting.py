"""Run the daemon in this process, with its lock, log and journal."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack

import anyio
import structlog

from orchestrator.daemon.life import Daemon
from orchestrator.errors import ExitCode, unwrap_cause
from orchestrator.installed import find_installed
from orchestrator.journal.db.writer import JournalTakenError
from orchestrator.journal.opening import open_store
from orchestrator.machine import Machine
from orchestrator.processes import reaper
from orchestrator.settings import Settings
from orchestrator.system.sdnotify import Notifier
from thinker.protocol import logs

LAST = 5.0  # seconds
log = structlog.get_logger()


class BoundedLoop(asyncio.SelectorEventLoop):
    """An event loop that a task breaks by `SystemExit`: it is logged, and tasks end within 5 s."""

    def run_forever(self) -> None:
        try:
            super().run_forever()
        except SystemExit as error:
            log.critical("event_loop_broke", exc_info=error)
            self.call_later(LAST, self.stop)  # tasks may wait for the one that ended
            raise RuntimeError(f"a task ended the daemon: {error!r}") from error


def run_daemon(settings: Settings, environ: Mapping[str, str]) -> int:
    """Run the daemon until SIGTERM or SIGINT, in a home whose lock is held.

    The exit code is one of `ExitCode`.

    On a shared journal, a daemon that another one has replaced stands by again.

    Raises:
        ConfigError: the daemon cannot start with this configuration.
        JournalError: the journal cannot be opened, or the disk is full.
        StorageFailedError: the disk failed; nothing was acknowledged since.
    """
    reaper.adopt_orphans()
    with ExitStack() as stack:
        for extension in find_installed().own.values():
            stack.enter_context(extension.keep_log(settings.paths.log, environ))
        logs.configure_logging(settings.log_level)
        while True:
            try:
                return _run_with_journal(settings, environ)
            except JournalTakenError as error:  # this machine slept, or had no network
                log.error("journal_lost", problem=str(error))


def _run_with_journal(settings: Settings, environ: Mapping[str, str]) -> int:
    """Open the journal, waiting for another daemon to end if needed, and run a daemon on it."""
    notifier = Notifier(environ)

    def stand_by() -> None:
        notifier.send_state("READY=1", "STATUS=stands by", "WATCHDOG=1")

    store = open_store(settings.journal, standing_by=stand_by)
    try:
        for extension in find_installed().own.values():
            extension.prepare_home(settings)
        offset = store.clock_offset if store.is_shared else None
        machine = Machine(settings, environ, offset)
        daemon = Daemon(settings, dict(environ), store, machine)
        anyio.run(daemon.run, backend_options={"loop_factory": BoundedLoop})
    except ExceptionGroup as group:
        raise store.failure or unwrap_cause(group) from None
    except (KeyboardInterrupt, BaseExceptionGroup):
        log.warning("ended_at_once", reason="a signal in the middle of the start")
        return ExitCode.INTERRUPTED
    finally:
        reaper.end_orphans()
        store.close()
    return ExitCode.OK
