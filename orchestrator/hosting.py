"""Run the daemon in this process: with its lock, log and journal, to its exit code."""

import os
from collections.abc import Mapping

import anyio
import structlog

from orchestrator.daemon import Daemon
from orchestrator.errors import ExitCode, only_cause
from orchestrator.journal.db.writer import JournalTakenError
from orchestrator.journal.opening import open_store
from orchestrator.machine import Machine
from orchestrator.processes import reaper
from orchestrator.pushed import config_follower
from orchestrator.settings import Settings
from orchestrator.system.homelock import locked
from orchestrator.system.log_relay import relayed
from orchestrator.system.sdnotify import Notifier
from thinker.protocol import logs

log = structlog.get_logger()


def run(settings: Settings, environ: Mapping[str, str]) -> int:
    """Run the daemon until SIGTERM or SIGINT; the exit code is one of `ExitCode`.

    One that another daemon has followed, on a shared journal, stands by again.

    Raises:
        ConfigError: it cannot start with this configuration.
        AlreadyRunningError: another daemon holds the home.
        JournalError: the journal cannot be opened, or the disk is full.
        StorageFailedError: the disk failed; nothing was acknowledged since.
    """
    os.umask(0o077)
    reaper.adopt_orphans()
    settings.paths.prepare()
    with locked(settings), relayed(settings.paths.log, environ):
        logs.configure(settings.log_level)
        while True:
            try:
                return _work(settings, environ)
            except JournalTakenError as error:  # this machine slept, or had no network
                log.error("journal_lost", problem=str(error))


def _work(settings: Settings, environ: Mapping[str, str]) -> int:
    """Open the journal, which may take until another daemon ends, and run a daemon on it."""
    notifier = Notifier(environ)

    def stand_by() -> None:
        notifier.tell("READY=1", "STATUS=stands by", "WATCHDOG=1")

    store = open_store(settings.journal, standing_by=stand_by)
    try:
        config_follower.bring(settings)
        machine = Machine(settings, environ, store.clock_offset)
        anyio.run(Daemon(settings, dict(environ), store, machine).run)
    except ExceptionGroup as group:
        raise store.failure or only_cause(group) from None
    except (KeyboardInterrupt, BaseExceptionGroup):
        log.warning("ended_at_once", reason="a signal in the middle of the start")
        return ExitCode.INTERRUPTED
    finally:
        reaper.end_orphans()
        store.close()
    return ExitCode.OK
