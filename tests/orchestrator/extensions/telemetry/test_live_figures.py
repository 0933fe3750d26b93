"""What the parts of the daemon are like now, as metrics."""

from pathlib import Path
from typing import cast

from orchestrator import __version__
from orchestrator.channel_api import ChannelStatus
from orchestrator.control.protocol import ToolServerReport
from orchestrator.extensions.telemetry import live_figures
from orchestrator.processes.launch import LaunchSpec
from orchestrator.processes.restarts import History
from orchestrator.processes.supervisor import Slot


class Spec:
    """As much of a launch spec as is looked at."""

    def __init__(self, parent: str | None) -> None:
        self.parent = parent


def test_restarts_are_those_of_agents() -> None:
    """Subagents come and go under ever new names."""
    slots = {
        name: Slot(cast("LaunchSpec", Spec(parent)), 60.0, History(restarts=number))
        for name, parent, number in (("work", None, 3), ("work-sub-1", "work", 9))
    }
    assert live_figures.build_worker_readings(slots).series == {("work",): 3}


def test_channel_is_up_or_down_and_its_last_success_has_an_age() -> None:
    """One that does not poll has none; a clock that was set back makes no negative age."""
    up, ages, refused = live_figures.build_channel_readings(
        (
            ChannelStatus("telegram", "degraded", last_ok=70.0),
            ChannelStatus("other", "ok", last_ok=130.0),
            ChannelStatus("console", "ok", refused=3),
        ),
        100.0,
    )
    assert refused.series[("console",)] == 3
    assert up.series == {("telegram",): 0, ("other",): 1, ("console",): 1}
    assert ages.series == {("telegram",): 30.0, ("other",): 0.0}


def test_tool_server_is_in_one_state() -> None:
    """Each state has a series, so that a change is seen in both."""
    found = live_figures.build_server_readings(
        (ToolServerReport(name="files", state="failed"),)
    ).series
    assert found == {("files", "starting"): 0, ("files", "connected"): 0, ("files", "failed"): 1}


def test_process_tells_of_itself() -> None:
    """Its memory is what the kernel says."""
    found = {one.family.name: one.series for one in live_figures.build_process_readings(5.0, 77)}
    assert found["orchestrator_journal_bytes"] == {(): 77}
    assert found["orchestrator_process_start_time_seconds"] == {(): 5.0}
    ((version, _),) = found["orchestrator_build_info"]
    assert version == __version__
    (memory,) = found["orchestrator_process_resident_memory_bytes"].values()
    status = Path("/proc/self/status").read_text("ascii")
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    assert isinstance(memory, int)
    assert 0 < memory <= peak
