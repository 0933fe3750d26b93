"""Steps of installing a service: each is a command that a person could type instead."""

import os
import pwd
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.errors import ConfigError

STEP_SECONDS = 180.0  # a start waits until the daemon is ready, a stop until it has ended


@dataclass(frozen=True)
class Step:
    """One step: the command that it amounts to, and what runs it.

    ``run`` returns lines to tell.
    """

    command: str
    run: Callable[[], Sequence[str]]


def shell(*argv: str, account: str = "") -> Step:
    """Return a step that runs a command, as the user ``account`` if it is not this one."""
    prefix = ("sudo", "-u", account) if account else ()

    def run() -> Sequence[str]:
        done = execute(argv, account)
        if done.returncode:
            text = (done.stderr or done.stdout).strip()
            raise ConfigError(text or f"it ended with the exit code {done.returncode}")
        return ()

    return Step(shlex.join((*prefix, *argv)), run)


def execute(argv: Sequence[str], account: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command without input and return what it printed.

    Raises:
        ConfigError: it cannot be run, or does not end.
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


def carry_out(steps: Sequence[Step]) -> Iterator[str]:
    """Run steps in order; yield each command before it runs, and what there is to tell.

    Raises:
        ConfigError: one failed; the message has it and the steps that are left.
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
