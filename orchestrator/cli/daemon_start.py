"""Start the daemon in this process, for ``orchestrator run``."""

import os
import sys
from pathlib import Path

from orchestrator.errors import ConfigError
from thinker.http.optional_imports import block_imports
from thinker.jail.hardening import harden_process
from thinker.jail.kernel import give_back_large_blocks


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
    os.umask(0o077)
    with block_imports("rich", "click"):
        from orchestrator.processes import first_zygote  # noqa: PLC0415 - not for another platform
    first_zygote.fork_first_zygote(os.environ)
    with block_imports("rich", "click"):
        from orchestrator.cli.held_home import run_in_home  # noqa: PLC0415 - the zygote needs none

    return run_in_home(home, config, log_level)
