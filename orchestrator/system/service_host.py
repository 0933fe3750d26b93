"""Install and remove the service on this machine: its user, its home, its unit."""

import os
import pwd
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.system import home_copy, systemd_unit
from orchestrator.system.installed_units import SYSTEM_HOME, UNIT, InstalledUnit, Scope, path_of
from orchestrator.system.service_steps import Step, shell

ACCOUNT = "orchestrator"  # the unit's User=


@dataclass(frozen=True)
class ServiceHost:
    """Where a service is installed.

    ``person`` is the user's home directory; ``account`` runs a system service. ``root`` is another
    folder than ``/`` in tests.
    """

    scope: Scope
    person: Path
    root: Path = Path("/")
    account: str = ACCOUNT

    @property
    def home(self) -> Path:
        if self.scope == "user":
            return self.person / ".orchestrator"
        return self.root / SYSTEM_HOME.relative_to("/")

    @property
    def unit(self) -> Path:
        return path_of(self.scope, self.person if self.scope == "user" else self.root)

    @property
    def booted(self) -> bool:
        """Whether systemd runs this machine, as sd_booted(3) finds out."""
        return (self.root / "run/systemd/system").is_dir()

    def systemctl(self, *arguments: str) -> tuple[str, ...]:
        return ("systemctl", *(("--user",) if self.scope == "user" else ()), *arguments)

    def install(
        self, program: Sequence[str], source: Path | None, *, now: bool, namespaces: bool
    ) -> list[Step]:
        """Return the steps from nothing to a service; ``program`` is this one's command line.

        ``source`` is a home to copy files from, if any. ``now`` starts the service. Without systemd
        the last steps are left out.

        Raises:
            ConfigError: there is nothing to copy in ``source``.
        """
        account = self.account if self.scope == "system" else ""
        steps = [*self._account(), *self._folder()]
        if source is not None:
            home_copy.require_home(source, self.home)
            steps.append(self._copying(source))
        steps += [
            shell(*program, "init", "--home", str(self.home), account=account),
            self._writing((*program, "run"), namespaces=namespaces),
        ]
        return [*steps, *(self.start(now=now) if self.booted else ())]

    def start(self, *, now: bool) -> list[Step]:
        """Return the steps that make systemd know the unit and start it with the machine."""
        verbs = ("enable", "restart") if now else ("enable",)
        return [
            shell(*self.systemctl("daemon-reload")),
            *(shell(*self.systemctl(verb, UNIT)) for verb in verbs),
        ]

    def uninstall(self, unit: InstalledUnit) -> list[Step]:
        """Return the steps that stop the service and remove its unit; its home stays."""

        def remove() -> Sequence[str]:
            unit.path.unlink()
            return ()

        removal = Step(f"rm {unit.path}", remove)
        if not self.booted:
            return [removal]
        return [
            shell(*self.systemctl("disable", "--now", UNIT)),
            removal,
            shell(*self.systemctl("daemon-reload")),
        ]

    def _account(self) -> list[Step]:
        if self.scope == "user" or _account_id(self.account) is not None:
            return []
        options = ("--system", "--user-group", "--no-create-home", "--home-dir", str(self.home))
        return [shell("useradd", *options, "--shell", "/usr/sbin/nologin", self.account)]

    def _folder(self) -> list[Step]:
        """Return the steps that make the home, and give it to the service where it is not."""
        if self.scope == "user":
            return [shell("mkdir", "-p", "-m", "700", str(self.home))]
        owner = ("-o", self.account, "-g", self.account)
        made = shell("install", "-d", "-m", "700", *owner, str(self.home))
        if not _others(self.home, _account_id(self.account)):
            return [made]
        return [made, shell("chown", "-R", "-h", f"{self.account}:", str(self.home))]

    def _copying(self, source: Path) -> Step:
        account = self.account if self.scope == "system" else pwd.getpwuid(os.geteuid()).pw_name
        found = [str(source / name) for name in home_copy.BY_PEOPLE if (source / name).exists()]
        command = shlex.join(["cp", "-r", "--no-clobber", *found, str(self.home)])
        return Step(command, lambda: [*home_copy.copy(source, self.home, account)])

    def _writing(self, command: Sequence[str], *, namespaces: bool) -> Step:
        text = systemd_unit.render(self.scope, command, namespaces=namespaces)

        def write() -> Sequence[str]:
            systemd_unit.write(self.unit, text)
            return ()

        return Step(f"tee {self.unit}", write)


def _account_id(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def _others(home: Path, owner: int | None) -> bool:
    """Return whether anything in a home belongs to another user than the service's."""
    return any(
        Path(folder, name).lstat().st_uid != owner
        for folder, folders, names in os.walk(home)
        for name in (*folders, *names)
    )
