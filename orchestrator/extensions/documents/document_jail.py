"""The jail of the process of one document.

A thread that begins before the jail would stay outside of it, and the PDF library has several. So
that library is unpacked by a child, and loaded once the jail is closed.
"""

import os
import shutil
import tempfile
from pathlib import Path

from kreuzberg import ExtractionConfig, extract_bytes_sync

from orchestrator.findings import JailKind, ProbeTargets
from thinker.formats.documents import PDF
from thinker.jail import kernel, limits
from thinker.jail.worker_jail import prepare_jail
from thinker.protocol.sandbox import SandboxReport

CPU = 30  # seconds
CONFIG = ExtractionConfig(use_cache=False)
EMPTY_PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
trailer<</Root 1 0 R>>"""


def enter_jail(*library: Path) -> SandboxReport:
    """Give up all but the memory of this process, and a folder with the PDF library."""
    limits.limit_resources(cpu_seconds=CPU, file_size=0)
    return prepare_jail().close_jail(library, Path.cwd()).report


def enter_pdf_jail() -> SandboxReport:
    """Go on in a child, in its jail with the PDF library; this process ends with the child.

    This process loads nothing. It removes the unpacked library once the child has loaded it.
    """
    folder = tempfile.mkdtemp()
    os.environ["TMPDIR"] = folder  # where the library is unpacked
    _unpack_pdf_library()
    ready, told = os.pipe()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        os.close(ready)
        kernel.die_with_parent(parent)
        report = enter_jail(Path(folder))
        load_pdf_library()
        os.close(told)
        return report
    os.close(told)
    os.read(ready, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)


def _unpack_pdf_library() -> None:
    child = os.fork()
    if child == 0:
        try:
            load_pdf_library()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def load_pdf_library() -> None:
    extract_bytes_sync(EMPTY_PDF, PDF, CONFIG)


def _enter_as_reader(targets: ProbeTargets) -> SandboxReport:
    os.chdir("/")  # as the process that the daemon starts
    del targets
    return enter_pdf_jail()


JAIL_KINDS = (JailKind("document reader", _enter_as_reader),)
