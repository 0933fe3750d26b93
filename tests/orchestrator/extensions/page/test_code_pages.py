"""Memory that the start of the page's process leaves."""

import math
from pathlib import Path

from orchestrator.extensions.page.code_pages import list_code_pages, release_memory


def test_code_that_was_given_back_runs_again() -> None:
    """The system reads it anew; less of it is resident until then."""
    pages = list_code_pages()
    assert pages
    assert all(first < end for first, end in pages)
    before = _read_shared()
    release_memory(pages)
    assert _read_shared() < before
    assert math.hypot(3, 4) == 5.0


def _read_shared() -> int:
    """Return the kibibytes of files that are resident in this process."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("RssFile:")[2].split()[0])
