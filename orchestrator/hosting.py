"""Run the daemon in this process: with its lock, log and journal, to its exit code."""

import os
from collections.abc import Mapping

import anyio
import structlog

from orchestrator.daemon import Daemon
from orchestrator.errors import ExitCode, only_cause
from orchestrator.journal.db.store import Store
from orchestrator.machine import Machine
from orchestrator.processes import reaper
from orchestrator.settings import Settings
from orchestrator.system.homelock import locked
from orchestrator.system.log_relay import relayed
from thinker.protocol import logs

log = structlog.get_logger()


def run(settings: Settings, environ: Mapping[str, str]) -> int:
    """Run the daemon until SIGTERM or SIGINT; the exit code is one of `ExitCode`.

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
        store = Store(settings.paths.journal)
        try:
            machine = Machine(settings, environ)
            anyio.run(Daemon(settings, dict(environ), store, machine).run)
        except ExceptionGroup as group:
            raise store.failure or only_cause(group) from None
        except (KeyboardInterrupt, BaseExceptionGroup):
            log.warning("ended_at_once", reason="a signal in the middle of the start")
            return ExitCode.INTERRUPTED
        finally:
            reaper.end_orphans()
            store.close()
    return 0
