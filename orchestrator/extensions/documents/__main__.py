"""The process of one document: given its media type, turn its bytes into text.

The parsers read strangers' files. So the process gives up network, programs and files before it
reads the first byte, and its memory and time are limited. The first line of its output is `READ` or
`REFUSED`; the text or the document's problem follows.
"""

import os
import sys

from kreuzberg import KreuzbergError, ParsingError, extract_bytes_sync

from orchestrator.extensions.documents.document_jail import CONFIG, enter_jail, enter_pdf_jail
from orchestrator.extensions.documents.process_output import MAX_TEXT, READ, REFUSED
from orchestrator.extensions.documents.word_separators import write_separators
from thinker.formats.documents import PDF, WORD
from thinker.jail import kernel

NICENESS = 10  # agents go first
HOLDING = ("full", "no-landlock")  # levels of jails that keep out network and programs


def main(media_type: str) -> None:
    kernel.die_with_parent(os.getppid())
    os.nice(NICENESS)
    jail = enter_pdf_jail() if media_type == PDF else enter_jail()
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


def _write_answer(outcome: str, text: str) -> None:
    sys.stdout.buffer.write(f"{outcome}\n{text}".encode("utf-8", "replace"))


if __name__ == "__main__":
    main(sys.argv[1])
