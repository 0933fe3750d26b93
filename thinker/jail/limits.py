"""Limit the resources of a process with setrlimit(2).

Where: is a worker's memory limit applied?
"""

import resource
from contextlib import suppress


def limit_resources(
    *,
    memory: int | None = None,
    files: int | None = None,
    processes: int | None = None,
    file_size: int | None = None,
    cpu_seconds: int | None = None,
) -> None:
    """Lower the given limits permanently; raise none.

    ``memory`` is the process's own data in bytes (RLIMIT_DATA). ``processes`` counts all processes
    and threads of the user, and does not apply to root.
    """
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_NOFILE: files,
        resource.RLIMIT_NPROC: processes,
        resource.RLIMIT_FSIZE: file_size,
        resource.RLIMIT_CPU: cpu_seconds,
    }
    for name, value in wanted.items():
        if value is not None:
            hard = resource.getrlimit(name)[1]
            lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
            with suppress(OSError, ValueError):
                resource.setrlimit(name, (lowered, lowered))
