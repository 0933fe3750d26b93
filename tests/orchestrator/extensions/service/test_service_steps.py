"""Steps: run in order, told as commands, and left to a person when one fails."""

import os
import pwd
from pathlib import Path

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.service.service_steps import ServiceStep, build_shell_step, run_steps

ME = pwd.getpwuid(os.geteuid()).pw_name


def test_steps_run_in_order_and_are_told_as_commands(tmp_path: Path) -> None:
    """With what each of them has to say."""
    made = tmp_path / "a b"
    steps = [
        build_shell_step("mkdir", str(made), account=ME),
        ServiceStep("cp x y", lambda: ["kept y"]),
    ]
    assert [*run_steps(steps)] == [f"+ sudo -u {ME} mkdir '{made}'", "+ cp x y", "kept y"]
    assert made.is_dir()


def test_failed_step_leaves_the_rest_to_a_person(tmp_path: Path) -> None:
    """Its reason comes first; nothing after it was run."""
    after = tmp_path / "after"
    steps = [
        build_shell_step("ls", str(tmp_path / "missing")),
        build_shell_step("mkdir", str(after)),
    ]
    with pytest.raises(ConfigError, match="No such file") as failed:
        [*run_steps(steps)]
    assert str(failed.value).splitlines()[-2:] == [
        f"  ls {tmp_path / 'missing'}",
        f"  mkdir {after}",
    ]
    assert not after.exists()


@pytest.mark.parametrize("argv", [("no-such-program",), ("false",)])
def test_program_that_is_missing_or_silent_is_a_sentence(argv: tuple[str, ...]) -> None:
    """No traceback, and no empty reason."""
    with pytest.raises(ConfigError, match=r"no-such-program|exit code 1"):
        build_shell_step(*argv).run()


def test_account_that_does_not_exist_is_a_sentence() -> None:
    """As after a useradd that did nothing."""
    with pytest.raises(ConfigError, match="no-such-user"):
        build_shell_step("true", account="no-such-user").run()
