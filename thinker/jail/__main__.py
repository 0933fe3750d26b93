"""``python -P -m thinker.jail``: jail this process like a worker, and print the report."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from thinker.jail.worker_jail import prepare_jail

if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(prepare_jail().close_jail((), Path.cwd()).report)) + "\n")
