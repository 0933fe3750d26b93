"""A process in each kind of jail, and what it reaches."""

import os
from pathlib import Path

import pytest

from orchestrator.extensions.doctor.examination import list_places_outside
from orchestrator.extensions.doctor.jail_probes import (
    list_jail_kinds,
    probe_jail_kind,
    probe_jails,
)
from orchestrator.findings import JailKind, ProbeTargets
from thinker.jail import landlock
from thinker.protocol.sandbox import SandboxReport


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the user of the daemon, with keys and with what starts programs."""
    folder = tmp_path / "user"
    for name in (".ssh", ".aws", ".gnupg", ".config/git"):
        (folder / name).mkdir(parents=True)
    (folder / ".bashrc").touch()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def targets(home: Path) -> ProbeTargets:
    (home / "skills").mkdir()
    (home / "agents.json").write_text("{}")
    paths = {"home": home, "agents.json": home / "agents.json"}
    paths |= list_places_outside()
    return ProbeTargets(home, (home / "skills",), {"supervisor": os.getpid()}, paths)


@pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="an older kernel")
def test_every_jail_holds(tmp_path: Path) -> None:
    """What is open by design is reached, and nothing else."""
    found = probe_jails(targets(tmp_path), list_jail_kinds())
    assert len(found) == len(list_jail_kinds())
    for jail, kind in zip(found, list_jail_kinds(), strict=True):
        assert (jail.jail, jail.sandbox, jail.unexpected) == (kind.name, "full", ())
        assert jail.attempts > 15


KINDS = (
    *("worker", "worker with hookNetwork", "broker", "channel host", "page", "tool host"),
    *("MCP server", "document reader", "workspace server", "web server", "run_command"),
    "embeddings server",
)


def test_every_kind_of_process_has_a_row() -> None:
    """Those of extensions, too."""
    assert sorted(kind.name for kind in list_jail_kinds()) == sorted(KINDS)


def test_jail_without_walls_is_seen_through(tmp_path: Path) -> None:
    """Every attempt counts that is not open by design."""
    kind = JailKind("none", lambda _: SandboxReport("full"), frozenset({"TCP"}))
    found = probe_jail_kind(kind, targets(tmp_path))
    assert {"home: list", "agents.json: read", "supervisor: kill"} <= set(found.unexpected)
    assert "TCP" in found.reached
    assert "TCP" not in found.unexpected


def test_probe_that_fails_is_reported_as_no_jail(tmp_path: Path) -> None:
    """It must not pass for one that reached nothing."""

    def broken(_: ProbeTargets) -> SandboxReport:
        raise OSError

    found = probe_jail_kind(JailKind("broken", broken), targets(tmp_path))
    assert (found.sandbox, found.attempts) == ("off", 0)
