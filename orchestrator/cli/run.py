"""``orchestrator run``."""

import importlib
import os
import sys
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Config, Home, LogLevel, load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.errors import ConfigError
from thinker.http.optional_imports import block_imports

with block_imports("rich", "click"):  # optional extras of others: a tenth of the daemon's start-up
    from orchestrator.system.homelock import hold_lock
    from thinker.jail.environment_block import take_secrets
    from thinker.jail.hardening import harden_process
    from thinker.protocol.providers import list_key_variables

SECRETS = ("TELEGRAM_BOT_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "ORCHESTRATOR_STORE")
"""Variables besides the keys of providers that children and /proc must not show."""

app = make_command_group()


@app.command()
def run(
    *,
    config: Config = None,
    home: Home = None,
    log_level: Annotated[
        LogLevel | None, typer.Option(help="Lowest level of log lines to write (default: info).")
    ] = None,
) -> None:
    """Run the daemon in the foreground until SIGTERM or Ctrl-C."""
    if sys.platform != "linux":
        raise ConfigError("orchestrator requires Linux with kernel 5.4 or newer")
    harden_process()
    settings = load_settings(home, config, log_level)
    require_owner(settings.home)
    os.umask(0o077)
    settings.paths.create_directories()
    with hold_lock(settings):  # so that other commands know that it starts
        with block_imports("rich", "click"):
            hosting = importlib.import_module("orchestrator.hosting")
        environ = take_secrets((*list_key_variables(), *SECRETS))
        raise typer.Exit(hosting.run_daemon(settings, environ))
