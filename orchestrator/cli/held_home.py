"""Run the daemon in a home whose lock it holds."""

import importlib
from pathlib import Path

from orchestrator.cli.loaded_settings import load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.system.homelock import hold_lock
from thinker.http.optional_imports import block_imports
from thinker.jail.environment_block import take_secrets
from thinker.protocol.providers import list_key_variables

SECRETS = ("TELEGRAM_BOT_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "ORCHESTRATOR_STORE")
"""Variables besides the keys of providers that children and /proc must not show."""


def run_in_home(home: Path | None, config: Path | None, log_level: str | None) -> int:
    """Read the settings and keys, lock the home and run its daemon; return its exit code.

    Raises:
        OrchestratorError: the daemon cannot start, or cannot go on.
    """
    settings = load_settings(home, config, log_level)
    require_owner(settings.home)
    settings.paths.create_directories()
    with hold_lock(settings):  # so that other commands know that it starts
        with block_imports("rich", "click"):
            hosting = importlib.import_module("orchestrator.hosting")
        environ = take_secrets((*list_key_variables(), *SECRETS))
        code: int = hosting.run_daemon(settings, environ)
        return code
