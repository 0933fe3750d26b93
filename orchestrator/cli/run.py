"""``orchestrator run``."""

import sys
from typing import Annotated

import typer

from orchestrator.cli._options import Config, Home, LogLevel, command_group, load_settings
from orchestrator.cli._other_user import require_owner
from orchestrator.errors import ConfigError
from thinker.http.optional_imports import without

with without("rich", "click"):  # optional extras of others: a tenth of the daemon's start-up
    from orchestrator import hosting
    from orchestrator.page_wire import STORE_VARIABLE
    from thinker.jail.environment_block import take_secrets
    from thinker.jail.hardening import harden
    from thinker.protocol.providers import key_variables

app = command_group()


@app.command()
def run(
    *,
    config: Config = None,
    home: Home = None,
    log_level: Annotated[
        LogLevel | None, typer.Option(help="The least level of the log lines (default: info).")
    ] = None,
) -> None:
    """Run the daemon in the foreground until SIGTERM or Ctrl-C."""
    if sys.platform != "linux":
        raise ConfigError("orchestrator runs on Linux (kernel 5.4 or newer) only")
    harden()
    settings = load_settings(home, config, log_level)
    require_owner(settings.home)
    others = ("TELEGRAM_BOT_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", STORE_VARIABLE)
    secrets = (*key_variables(), *others)
    raise typer.Exit(hosting.run(settings, take_secrets(secrets)))
