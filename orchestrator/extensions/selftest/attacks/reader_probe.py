"""Be the reader of a PDF whose library has a hole, as a process with the argument FILE.

The library starts a thread, as the real one does. The thread waits for the jail and then opens the
file; what that reached is printed.
"""

import os
import sys
import threading
from importlib.util import find_spec

WAIT = 5.0  # seconds for the thread to try


def main(file: str) -> None:
    if find_spec("kreuzberg") is None:  # no PDF is read on this machine
        return
    from orchestrator.extensions.documents import document_jail  # noqa: PLC0415 - see above

    closed, tried = threading.Event(), threading.Event()
    reached: list[str] = []

    def wait_and_read() -> None:
        closed.wait(WAIT)
        try:
            os.close(os.open(file, os.O_RDONLY))
            reached.append(f"a thread outside of the jail read {file}")
        except OSError:
            pass
        tried.set()

    def load_with_thread() -> None:
        threading.Thread(target=wait_and_read, daemon=True).start()

    document_jail.load_pdf_library = load_with_thread
    document_jail.enter_pdf_jail()
    closed.set()
    tried.wait(WAIT)
    sys.stdout.write("".join(reached))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
    os._exit(0)  # not by the exit of a process that was forked
