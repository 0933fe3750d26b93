"""Refusing to run without the jail that agents.json requires."""

import pytest

from orchestrator.errors import ConfigError, WorkerError
from orchestrator.processes import jail_requirement
from orchestrator.processes.jail_requirement import probe_jail, require_jail, require_jail_at_start
from orchestrator.processes.restarts import EXIT_CONFIG
from thinker.protocol.sandbox import SandboxReport, read_report

LESS = SandboxReport("no-landlock", "the kernel has no Landlock")


def test_worker_with_less_than_the_required_jail_is_refused_for_good() -> None:
    """The message says what is lacking and what to do; other modes take what they get."""
    with pytest.raises(WorkerError, match=r"no Landlock.*or set \"sandbox\"") as refused:
        require_jail("required", LESS)
    assert refused.value.code == EXIT_CONFIG
    require_jail("required", SandboxReport("full"))
    require_jail("auto", LESS)
    require_jail("off", SandboxReport())


@pytest.mark.process
async def test_daemon_tries_a_required_jail_before_it_starts() -> None:
    """In a process of its own."""
    if (await probe_jail()).level == "full":
        await require_jail_at_start("required")
    else:
        with pytest.raises(ConfigError, match='"sandbox" is "required"'):
            await require_jail_at_start("required")
    await require_jail_at_start("auto")


@pytest.mark.process
async def test_probe_that_fails_counts_as_no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the daemon does not start."""
    monkeypatch.setattr(jail_requirement, "PROBE", ("false",))
    with pytest.raises(ConfigError, match="cannot be tried"):
        await require_jail_at_start("required")


@pytest.mark.parametrize("text", ["", "[]", '{"level": "better"}'])
def test_what_is_no_report_is_not_read_as_one(text: str) -> None:
    """A level that is not known would otherwise look like one."""
    with pytest.raises(ValueError, match=r"report|JSON|Expecting"):
        read_report(text)
