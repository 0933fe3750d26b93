"""Limits of what a process may use."""

from fakes.jailed import outcomes

LIMIT = "from thinker.jail.limits import limit_resources; import resource\n"


def test_limits_are_lowered_and_cannot_be_raised() -> None:
    """What is not given stays."""
    jail = (
        LIMIT + "before = resource.getrlimit(resource.RLIMIT_CPU)\n"
        "limit_resources(memory=2**30, files=64)\n"
        "limit_resources(files=1000)"
    )
    tries = {
        "files": "assert resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64)",
        "memory": "assert resource.getrlimit(resource.RLIMIT_DATA) == (2**30, 2**30)",
        "core": "assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)",
        "others": "assert resource.getrlimit(resource.RLIMIT_CPU) == before",
        "open": "kept = [os.open('/', os.O_RDONLY) for _ in range(100)]",
    }
    found = outcomes(jail, tries)
    assert found.pop("open") == "EMFILE"
    assert set(found.values()) == {"done"}


def test_memory_beyond_the_limit_is_refused_to_the_process() -> None:
    """It gets a MemoryError, and the machine keeps its memory."""
    code = "try: bytearray(2**29)\nexcept MemoryError: raise OSError(errno.ENOMEM, '')"
    found = outcomes(
        LIMIT + "limit_resources(memory=2**28)", {"large": code, "small": "bytearray(2**20)"}
    )
    assert found == {"large": "ENOMEM", "small": "done"}
