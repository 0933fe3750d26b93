"""The process of one document: given its media type, turn its bytes into text.

The parsers read strangers' files. So the process gives up network, programs and files before it
reads the first byte, and its memory and time are limited. The first line of its output is `READ` or
`REFUSED`; the text or the document's problem follows.
"""

import os
import sys
import tempfile
from pathlib import Path

from kreuzberg import ExtractionConfig, KreuzbergError, ParsingError, extract_bytes_sync

from orchestrator.extensions.documents.process_output import MAX_TEXT, READ, REFUSED
from orchestrator.extensions.documents.word_separators import write_separators
from thinker.formats.documents import PDF, WORD
from thinker.jail import kernel, limits
from thinker.jail.worker_jail import prepare_jail

NICENESS = 10  # agents go first
CPU = 30  # seconds
CONFIG = ExtractionConfig(use_cache=False)
EMPTY_PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
trailer<</Root 1 0 R>>"""
HOLDING = ("full", "no-landlock")  # levels of jails that keep out network and programs


def main(media_type: str) -> None:
    kernel.die_with_parent(os.getppid())
    os.nice(NICENESS)
    if media_type == PDF:
        _load_pdfium()
    limits.limit_resources(cpu_seconds=CPU, file_size=0)
    jail = prepare_jail().close_jail((), Path.cwd()).report
    if jail.level not in HOLDING:
        _write_answer(REFUSED, f"documents are not read on this machine: {jail.reason}")
        return
    data = sys.stdin.buffer.read()
    if media_type == WORD:
        data = write_separators(data)
    try:
        found = extract_bytes_sync(data, media_type, CONFIG)
    except ParsingError as error:
        locked = "password" in str(error).lower() or "encrypted" in str(error).lower()
        _write_answer(REFUSED, "it is encrypted" if locked else "it is damaged")
    except KreuzbergError:
        _write_answer(REFUSED, "it is damaged")
    else:
        _write_answer(READ, found.content.replace("\r\n", "\n")[:MAX_TEXT])


def _load_pdfium() -> None:
    """Load the PDF library from a private folder, where it is unpacked first."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        extract_bytes_sync(EMPTY_PDF, PDF, CONFIG)


def _write_answer(outcome: str, text: str) -> None:
    sys.stdout.buffer.write(f"{outcome}\n{text}".encode("utf-8", "replace"))


if __name__ == "__main__":
    main(sys.argv[1])
