"""Harden every process of the daemon first: no other process can read or change it."""

import resource
from contextlib import suppress

from thinker.jail import kernel
from thinker.protocol.sandbox import SandboxReport

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_MDWE = 4, 38, 65  # linux/prctl.h
PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, PR_GET_MDWE = 3, 39, 66
MDWE_REFUSE_EXEC_GAIN, MDWE_NO_INHERIT = 1, 2


def harden_process(*, mdwe: bool = True) -> tuple[str, ...]:
    """Deny other processes this one's memory and /proc files; return what the kernel lacks.

    No core is dumped, no program that this process executes gains rights, and no memory that was
    writable becomes executable (``mdwe``). Executed programs can be read again, and may change
    their code, as Node.js does.
    """
    lacking = []
    steps = [("PR_SET_DUMPABLE", PR_SET_DUMPABLE, 0), ("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)]
    if mdwe:
        steps.append(("PR_SET_MDWE", PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN | MDWE_NO_INHERIT))
    for name, option, value in steps:
        try:
            kernel.prctl(option, value)
        except OSError:
            if option != PR_SET_MDWE or not is_executable_memory_refused():
                lacking.append(name)
    with suppress(OSError, ValueError):  # a lower limit is set
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return tuple(lacking)


def is_hardened() -> bool:
    """Return whether the kernel reports this process as unreadable and unable to gain rights."""
    try:
        private = kernel.prctl(PR_GET_DUMPABLE) == 0
        return private and kernel.prctl(PR_GET_NO_NEW_PRIVS) == 1
    except OSError:
        return False


def build_hardened_report(why: str) -> SandboxReport:
    """Return the report of a hardened process without a jail; ``why`` is the reason."""
    if is_hardened():
        return SandboxReport("keys-only", why)
    return SandboxReport("off", "the kernel refused to harden it")


def is_executable_memory_refused() -> bool:
    """Return whether the kernel refuses to make memory executable that was ever writable.

    A parent process may have set this.
    """
    try:
        return bool(kernel.prctl(PR_GET_MDWE) & MDWE_REFUSE_EXEC_GAIN)
    except OSError:
        return False
