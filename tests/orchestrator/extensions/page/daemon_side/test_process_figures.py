"""What processes take."""

import os
from pathlib import Path

from orchestrator.extensions.page.daemon_side.page_protocol import ProcessNumbers
from orchestrator.extensions.page.daemon_side.process_figures import measure_processes


def write_process(proc: Path, pid: int, parent: int) -> None:
    """A process as Linux shows it, whose name looks like the end of its name."""
    fields = ["S", str(parent), *["0"] * 9, "150", "50", *["0"] * 6, "1000", "0", "30", "0"]
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "stat").write_text(f"{pid} (a) S 1 ) {' '.join(fields)}\n", "ascii")


def test_memory_time_and_age_are_told(tmp_path: Path) -> None:
    """A process that ended is left out, and so is one of others."""
    (tmp_path / "uptime").write_text("100.00 1.00\n", "ascii")
    for pid, parent in ((10, 1), (11, 10), (12, 11), (99, 1)):
        write_process(tmp_path, pid, parent)
    table = measure_processes(ProcessNumbers(pids=(10, 12, 13, 99)), 10, tmp_path)
    assert [one.pid for one in table.processes] == [10, 12]
    ticks = os.sysconf("SC_CLK_TCK")
    found = table.processes[1]
    assert found.memory_bytes == 30 * os.sysconf("SC_PAGESIZE")
    assert found.cpu_seconds == 200 / ticks
    assert found.age_seconds == 100 - 1000 / ticks


def test_memory_is_what_no_other_process_has(tmp_path: Path) -> None:
    """Where Linux tells it."""
    (tmp_path / "uptime").write_text("100.00 1.00\n", "ascii")
    write_process(tmp_path, 10, 1)
    rollup = "Rss: 900 kB\nPrivate_Clean: 4 kB\nPrivate_Dirty: 8 kB\n"
    (tmp_path / "10" / "smaps_rollup").write_text(rollup, "ascii")
    (found,) = measure_processes(ProcessNumbers(pids=(10,)), 10, tmp_path).processes
    assert found.memory_bytes == 12 * 1024


def test_machine_that_hides_its_age_gives_no_figures(tmp_path: Path) -> None:
    """The screen shows the processes without them."""
    write_process(tmp_path, 10, 1)
    assert measure_processes(ProcessNumbers(pids=(10,)), 10, tmp_path).processes == ()


def test_own_process_is_measured() -> None:
    """As the supervisor does it."""
    own = os.getpid()
    (found,) = measure_processes(ProcessNumbers(pids=(own,)), own).processes
    assert found.memory_bytes > 0
    assert found.age_seconds >= 0
