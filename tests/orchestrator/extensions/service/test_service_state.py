"""The state of a service in words, from what systemctl prints."""

from pathlib import Path

import pytest
from fakes.service_tools import ServiceTools

from orchestrator.errors import ConfigError
from orchestrator.extensions.service import service_state
from orchestrator.extensions.service.service_host import ServiceHost

AT = "Mon 2026-11-23 20:00:00 UTC"


def test_running_service_tells_since_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its process and what the daemon says of itself."""
    shown = (
        f"ActiveState=active\\nActiveEnterTimestamp={AT}\\nUnitFileState=enabled\\nMainPID=7"
        "\\nNRestarts=2\\nStatusText=3 agents\\nResult=success\\nExecMainCode=0"
    )
    tools = ServiceTools(tmp_path, monkeypatch, ("systemctl",), show=f"printf '{shown}'")
    state = service_state.query_service_state(ServiceHost("user", tmp_path, tmp_path))
    assert state.running
    assert state.facts == {
        "enabled": "yes, it starts by itself",
        "state": f"running since {AT}, process 7 (3 agents)",
        "restarts": "2 since it was started",
    }
    assert tools.calls[0].startswith("systemctl --user show --property=ActiveState,")


@pytest.mark.parametrize(
    ("result", "code", "status", "words"),
    [
        ("exit-code", 1, 78, ("agents.json", "not started again", "exit code 78")),
        ("exit-code", 1, 75, ("another daemon", "exit code 75")),
        ("exit-code", 1, 99, ("the log has the reason", "exit code 99")),
        ("exit-code", 1, 203, ("cannot be run",)),
        ("exit-code", 1, 243, ("credentials",)),
        ("watchdog", 2, 6, ("watchdog", "SIGABRT")),
        ("oom-kill", 2, 9, ("ran out of memory", "SIGKILL")),
        ("start-limit-hit", 1, 1, ("gave up", "exit code 1")),
        ("success", 1, 0, ("in order",)),
    ],
)
def test_last_end_is_told_in_words(
    result: str, code: int, status: int, words: tuple[str, ...]
) -> None:
    """With the time at which it was."""
    found = {"ActiveState": "failed", "Result": result, "ExecMainExitTimestamp": AT}
    state = service_state.describe_properties(
        {**found, "ExecMainCode": str(code), "ExecMainStatus": str(status)}
    )
    assert not state.running
    assert state.facts["state"] == "failed"
    assert state.facts["last end"].startswith(f"{AT}: ")
    assert all(word in state.facts["last end"] for word in words)


def test_service_that_failed_tells_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own lines say what is wrong, and those of systemd are left out."""
    failed = "printf 'ActiveState=failed'"
    words = "printf 'agents.json:1: not a valid JSON value\\n'"
    names = ("systemctl", "journalctl")
    tools = ServiceTools(tmp_path, monkeypatch, names, show=failed, _SYSTEMD_UNIT=words)
    state = service_state.query_service_state(ServiceHost("system", tmp_path, tmp_path))
    assert state.facts["it said"] == "agents.json:1: not a valid JSON value"
    assert tools.calls[1].endswith("--output=cat _SYSTEMD_UNIT=orchestrator.service")
    tools.answer({"show": failed, "_SYSTEMD_UNIT": "exit 1"})
    assert (
        "it said"
        not in service_state.query_service_state(ServiceHost("system", tmp_path, tmp_path)).facts
    )


def test_service_that_never_ran_has_no_end() -> None:
    """And a unit that was edited is told."""
    state = service_state.describe_properties(
        {"ActiveState": "inactive", "NeedDaemonReload": "yes"}
    )
    assert "last end" not in state.facts
    assert "daemon-reload" in state.facts["note"]
    assert state.facts["enabled"].startswith("no")


def test_manager_that_does_not_answer_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a shell of `su`, which has no manager of that user."""
    ServiceTools(tmp_path, monkeypatch, ("systemctl",), show="echo no bus >&2; exit 1")
    with pytest.raises(ConfigError, match="no bus; log in as that user"):
        service_state.query_service_state(ServiceHost("user", tmp_path, tmp_path))
