"""The jail of the process of a document."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.extensions.documents.document_jail import enter_pdf_jail
from thinker.jail import landlock

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="an older kernel"),
]


def tell_from_child(work: Callable[[], str]) -> tuple[str, int]:
    """Run something in a child; return the text that it tells and its exit code."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(told, work().encode())
        finally:
            os._exit(7)
    os.close(told)
    with os.fdopen(heard, "rb") as pipe:
        text = pipe.read().decode()
    return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_pdf_library_is_loaded_inside_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jail closes around one thread, or would not be whole; the exit code is the reader's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text, code = tell_from_child(lambda: enter_pdf_jail().level)
    assert (text, code) == ("full", 7)
    assert list(tmp_path.iterdir()) == []
