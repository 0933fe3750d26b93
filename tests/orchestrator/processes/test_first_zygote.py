"""What daemon and zygote import before the one is forked from the other."""

import subprocess
import sys

import pytest

from orchestrator.processes.first_zygote import COMMON

pytestmark = pytest.mark.process
LOADED = "import sys, {0}; print(*sorted(name for name in sys.modules if name[:8] == 'thinker.'))"


def list_modules(program: str) -> set[str]:
    """Return the modules of the worker's package that a process loads with another module."""
    code = LOADED.format(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_what_daemon_and_zygote_both_need_is_imported_before_the_fork() -> None:
    """What is imported after it takes its memory twice."""
    both = list_modules("orchestrator.hosting") & list_modules("thinker.zygote")
    start = ("orchestrator.cli.daemon_start", "orchestrator.processes.first_zygote")
    assert both - list_modules(", ".join((*start, *COMMON))) == set()
