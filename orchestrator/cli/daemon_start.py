"""Start the daemon in this process, for ``orchestrator run``."""

import importlib
import os
import sys
from pathlib import Path

from orchestrator.cli.loaded_settings import load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.errors import ConfigError
from orchestrator.system.homelock import hold_lock
from thinker.http.optional_imports import block_imports
from thinker.jail.environment_block import take_secrets
from thinker.jail.hardening import harden_process
from thinker.jail.kernel import give_back_large_blocks
from thinker.protocol.providers import list_key_variables

SECRETS = ("TELEGRAM_BOT_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "ORCHESTRATOR_STORE")
"""Variables besides the keys of providers that children and /proc must not show."""


def start_daemon(
    home: Path | None = None, config: Path | None = None, log_level: str | None = None
) -> int:
    """Run the daemon until SIGTERM or Ctrl-C and return its exit code.

    Arguments that are not None override the environment.

    Raises:
        OrchestratorError: the daemon cannot start, or cannot go on.
    """
    if sys.platform != "linux":
        raise ConfigError("orchestrator requires Linux with kernel 5.4 or newer")
    harden_process()
    give_back_large_blocks()
    settings = load_settings(home, config, log_level)
    require_owner(settings.home)
    os.umask(0o077)
    settings.paths.create_directories()
    with hold_lock(settings):  # so that other commands know that it starts
        with block_imports("rich", "click"):
            hosting = importlib.import_module("orchestrator.hosting")
        environ = take_secrets((*list_key_variables(), *SECRETS))
        code: int = hosting.run_daemon(settings, environ)
        return code
