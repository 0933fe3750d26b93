"""``python -P -m thinker``: one worker, told everything by its environment."""

import os
import sys

from thinker.http.optional_imports import without

with without("rich", "click"):  # structlog and httpx take them along, for colours of their own
    from thinker.startup import main

if __name__ == "__main__":
    # The supervisor saw end-of-file or killed us; there is nothing left to tidy up, and waiting
    # for threads that still read stdin would keep the process alive.
    code = main(os.environ)
    sys.stdout.flush()
    os._exit(code)
