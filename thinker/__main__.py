"""``python -P -m thinker``: run one worker, configured by its environment."""

import faulthandler
import os
import sys
from functools import partial

from thinker.http.optional_imports import block_imports

with block_imports("rich", "click"):  # optional extras of structlog and others
    from thinker import startup

if __name__ == "__main__":
    faulthandler.enable()  # SIGABRT from the supervisor prints where the worker hangs
    # A normal exit would wait for the thread that still reads stdin.
    code = startup.run_process(partial(startup.run_worker, os.environ))
    sys.stdout.flush()
    os._exit(code)
