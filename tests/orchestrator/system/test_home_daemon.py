"""The daemon of a home, seen from outside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.journal.db.journal_file import mark_file_failed
from orchestrator.journal.db.writer import JournalDamagedError
from orchestrator.settings import Settings
from orchestrator.system.home_daemon import (
    Unit,
    find_daemon_pid,
    find_unit,
    require_not_restarted,
    terminate_process,
)
from orchestrator.system.homelock import hold_lock

PID = 4711
STUBBORN = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"
SYSTEM = "0::/system.slice/orchestrator.service\n"
USER = "0::/user.slice/user-1.slice/user@1.service/app.slice/orchestrator.service\n"


def test_home_without_a_daemon_is_told(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(NotRunningError, match="orchestrator run"):
        find_daemon_pid(Settings(home=tmp_path))


def test_damage_that_ended_the_last_daemon_is_told(tmp_path: Path) -> None:
    """Until a start finds the whole file sound."""
    mark_file_failed(tmp_path / "journal.db", JournalDamagedError("a page"))
    with pytest.raises(NotRunningError, match=r"journal is damaged \(a page\); restore a backup"):
        find_daemon_pid(Settings(home=tmp_path))


def test_daemon_that_does_not_listen_yet_is_found(tmp_path: Path) -> None:
    """It starts, or stands by; either can be stopped."""
    settings = Settings(home=tmp_path)
    with hold_lock(settings):
        assert find_daemon_pid(settings) == os.getpid()
    with pytest.raises(NotRunningError):
        find_daemon_pid(settings)


@pytest.mark.process
def test_process_that_does_not_end_in_time_is_left_running() -> None:
    """Nothing is killed; one that has ended counts as ended."""
    with subprocess.Popen((sys.executable, "-c", STUBBORN), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert not terminate_process(process.pid, 0)
        assert process.poll() is None
        process.kill()
    assert terminate_process(process.pid, 0)


def test_process_that_cannot_be_signalled_from_here_is_told() -> None:
    """0 is the number of one in another PID namespace, of which no kernel gives a descriptor."""
    assert terminate_process(0, 0) is None


def test_number_of_another_pid_namespace_is_not_taken(tmp_path: Path) -> None:
    """Here it is that of a stranger, or of nobody."""
    settings = Settings(home=tmp_path)
    with hold_lock(settings):
        settings.paths.lock.write_text("1 pid:[1]\n")
        assert find_daemon_pid(settings) == 0
        settings.paths.lock.write_text(f"{PID}\n")  # as an older version writes
        assert find_daemon_pid(settings) == PID


def systemd(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, group: str) -> Path:
    """A systemctl that gives this answer, and processes of which one is in this group."""
    program = folder / "systemctl"
    program.write_text(f"#!/bin/sh\nprintf '{answer}'\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (folder / str(PID)).mkdir()
    (folder / str(PID) / "cgroup").write_text(group)
    return folder


@pytest.mark.parametrize(
    ("group", "answer", "found"),
    [
        (SYSTEM, f"MainPID={PID}\\nRestart=always\\n", ("system", True)),
        (USER, f"Restart=on-failure\\nMainPID={PID}\\n", ("user", False)),
        (USER, "MainPID=1\\nRestart=always\\n", None),  # a terminal that is a service
        ("0::/user.slice/session-3.scope\n", f"MainPID={PID}\\nRestart=always\\n", None),
        (SYSTEM, "", None),
    ],
)
def test_service_is_known_by_its_main_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    group: str,
    answer: str,
    found: tuple[str, bool] | None,
) -> None:
    """What else runs in a service was started by hand."""
    unit = find_unit(PID, systemd(tmp_path, monkeypatch, answer, group))
    if found is None:
        assert unit is None
    else:
        assert unit is not None
        assert (unit.name, unit.scope, unit.restarts) == ("orchestrator.service", *found)


def test_service_that_would_start_again_is_left_to_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that stops it is shown."""
    processes = systemd(tmp_path, monkeypatch, f"MainPID={PID}\\nRestart=always\\n", USER)
    with pytest.raises(OrchestratorError, match=r"systemctl --user stop orchestrator\.service"):
        require_not_restarted(PID, processes)


def test_service_that_stays_down_may_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As may a daemon that was started by hand."""
    answer = f"MainPID={PID}\\nRestart=on-failure\\n"
    require_not_restarted(PID, systemd(tmp_path, monkeypatch, answer, SYSTEM))


def test_process_that_is_gone_belongs_to_no_service(tmp_path: Path) -> None:
    """It may end at any time."""
    assert find_unit(PID, tmp_path) is None


def test_units_of_a_user_are_found_with_an_option() -> None:
    """The system's are found without."""
    assert Unit("x", "user", restarts=True).manager_option == ("--user",)
    assert Unit("x", "system", restarts=True).manager_option == ()
