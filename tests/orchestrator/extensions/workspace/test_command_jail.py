"""The jail of commands, on a kernel without Landlock: `test_workspace` has the others."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.server_client import MANY, OLD_KERNEL, workspace

from orchestrator.extensions.selftest.crash.process_tree import list_descendants

pytestmark = pytest.mark.process


def test_commands_are_refused_and_files_are_there(tmp_path: Path) -> None:
    """With the reason, and what an operator may do; paths still lead nowhere else."""
    (tmp_path / "secret.txt").write_text("the secret", "utf-8")
    with workspace(tmp_path, program=OLD_KERNEL) as client:
        assert "Wrote 1 bytes" in client.call("write_file", path="a/b.txt", content="x")
        assert "1\tx" in client.call("read_file", path="a/b.txt")
        told = client.shell("touch ran")
        assert "did not run: this kernel has no Landlock" in told
        assert '"sandbox": "off"' in told
        assert "no Landlock" in client.call("search_files", text="x")
        (tmp_path / "ws" / "out").symlink_to(tmp_path)
        assert "the secret" not in client.call("read_file", path="out/secret.txt")
    assert not (tmp_path / "ws" / "ran").exists()


def test_operator_may_run_commands_all_the_same(tmp_path: Path) -> None:
    """Without sockets and signals, and nothing outlives them."""
    with workspace(
        tmp_path, lambda settings: replace(settings, jailed=False), OLD_KERNEL
    ) as client:
        told = client.shell("echo ran; setsid sleep 621 & kill -0 $PPID || echo no signals")
        assert "ran" in told
        assert "no signals" in told
        assert list_descendants(client.process.pid) == []
        assert "it had more than 40 processes" in client.shell(MANY)
        assert list_descendants(client.process.pid) == []
        assert not client.shell("exec 3<>/dev/tcp/127.0.0.1/9").startswith("exit code 0")
        assert not client.shell("chmod 777 ..").startswith("exit code 0")
