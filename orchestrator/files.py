"""Write files that only this user can read."""

import os
from pathlib import Path
from uuid import uuid4


def write_private(path: Path, data: bytes) -> None:
    """Replace a file atomically: readers see the old or the new data; only this user may read."""
    fresh = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        fresh.touch(mode=0o600, exist_ok=False)
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
