"""Steps of an installation: each is a command that a person could type instead."""

import os
import pwd
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.errors import ConfigError

STEP_SECONDS = 180.0  # a start waits until the daemon is ready, a stop until the daemon has ended


@dataclass(frozen=True)
class ServiceStep:
    """One step: its equivalent command, and the function that runs it.

    ``run`` returns lines to print.
    """

    command: str
    run: Callable[[], Sequence[str]]


def build_shell_step(*argv: str, account: str = "") -> ServiceStep:
    """Build a step that runs a command, as the user ``account`` if needed."""
    prefix = ("sudo", "-u", account) if account else ()

    def run_shell() -> Sequence[str]:
        done = run_command(argv, account)
        if done.returncode:
            text = (done.stderr or done.stdout).strip()
            raise ConfigError(text or f"it ended with the exit code {done.returncode}")
        return ()

    return ServiceStep(shlex.join((*prefix, *argv)), run_shell)


def run_command(argv: Sequence[str], account: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command without input and return what it printed.

    Raises:
        ConfigError: the command cannot be run, or does not end.
    """
    try:
        other = account and pwd.getpwnam(account).pw_uid != os.geteuid()
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd="/",
            timeout=STEP_SECONDS,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": "/"} if other else None,
            user=account if other else None,
            group=account if other else None,
            extra_groups=[] if other else None,
        )
    except (OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
        raise ConfigError(f"{argv[0]}: {error}") from error


def run_steps(steps: Sequence[ServiceStep]) -> Iterator[str]:
    """Run steps in order; yield each command before it runs, and its output.

    Raises:
        ConfigError: a step failed; the message lists it and the remaining steps.
    """
    for number, step in enumerate(steps):
        yield f"+ {step.command}"
        try:
            yield from step.run()
        except (ConfigError, OSError) as error:
            left = "\n".join(f"  {later.command}" for later in steps[number:])
            raise ConfigError(
                f"{step.command}: {error}\nThese steps are left, to be done by hand or by the same"
                f" command again:\n{left}"
            ) from error
