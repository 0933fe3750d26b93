"""Install and remove the service on this machine: its user, its home, its unit."""

import os
import pwd
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.extensions.service import home_copy, systemd_unit
from orchestrator.extensions.service.service_steps import ServiceStep, build_shell_step
from orchestrator.home_paths import BY_PEOPLE
from orchestrator.system.installed_units import (
    SYSTEM_HOME,
    UNIT,
    InstalledUnit,
    Scope,
    find_unit_path,
)

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
    def home_path(self) -> Path:
        if self.scope == "user":
            return self.person / ".orchestrator"
        return self.root / SYSTEM_HOME.relative_to("/")

    @property
    def unit_path(self) -> Path:
        return find_unit_path(self.scope, self.person if self.scope == "user" else self.root)

    @property
    def is_booted(self) -> bool:
        """Whether systemd runs this machine, as sd_booted(3) determines it."""
        return (self.root / "run/systemd/system").is_dir()

    def build_systemctl_command(self, *arguments: str) -> tuple[str, ...]:
        return ("systemctl", *(("--user",) if self.scope == "user" else ()), *arguments)

    def plan_install(
        self, program: Sequence[str], source: Path | None, *, now: bool, namespaces: bool
    ) -> list[ServiceStep]:
        """Plan the installation of a service; ``program`` is this program's command line.

        ``source`` is a home to copy files from, if any. ``now`` starts the service. Without systemd
        the last steps are left out.

        Raises:
            ConfigError: ``source`` is not a home to copy from.
        """
        account = self.account if self.scope == "system" else ""
        steps = [*self._plan_account(), *self._plan_folder()]
        if source is not None:
            home_copy.require_home(source, self.home_path)
            steps.append(self._plan_copy(source))
        steps += [
            build_shell_step(*program, "init", "--home", str(self.home_path), account=account),
            self._plan_unit_file((*program, "run"), namespaces=namespaces),
        ]
        return [*steps, *(self.plan_start(now=now) if self.is_booted else ())]

    def plan_start(self, *, now: bool) -> list[ServiceStep]:
        """Plan the steps that register the unit with systemd and start it at boot."""
        verbs = ("enable", "restart") if now else ("enable",)
        return [
            build_shell_step(*self.build_systemctl_command("daemon-reload")),
            *(build_shell_step(*self.build_systemctl_command(verb, UNIT)) for verb in verbs),
        ]

    def plan_uninstall(self, unit: InstalledUnit) -> list[ServiceStep]:
        """Plan the removal of the service's unit; its home stays."""

        def remove_unit() -> Sequence[str]:
            unit.path.unlink()
            return ()

        removal = ServiceStep(f"rm {unit.path}", remove_unit)
        if not self.is_booted:
            return [removal]
        return [
            build_shell_step(*self.build_systemctl_command("disable", "--now", UNIT)),
            removal,
            build_shell_step(*self.build_systemctl_command("daemon-reload")),
        ]

    def _plan_account(self) -> list[ServiceStep]:
        if self.scope == "user" or _find_account_id(self.account) is not None:
            return []
        options = (
            "--system",
            "--user-group",
            "--no-create-home",
            "--home-dir",
            str(self.home_path),
        )
        return [build_shell_step("useradd", *options, "--shell", "/usr/sbin/nologin", self.account)]

    def _plan_folder(self) -> list[ServiceStep]:
        """Plan the steps that make the home and give it to the service's user."""
        if self.scope == "user":
            return [build_shell_step("mkdir", "-p", "-m", "700", str(self.home_path))]
        owner = ("-o", self.account, "-g", self.account)
        made = build_shell_step("install", "-d", "-m", "700", *owner, str(self.home_path))
        if not _has_foreign_files(self.home_path, _find_account_id(self.account)):
            return [made]
        return [
            made,
            build_shell_step("chown", "-R", "-h", f"{self.account}:", str(self.home_path)),
        ]

    def _plan_copy(self, source: Path) -> ServiceStep:
        account = self.account if self.scope == "system" else pwd.getpwuid(os.geteuid()).pw_name
        found = [str(source / name) for name in BY_PEOPLE if (source / name).exists()]
        command = shlex.join(["cp", "-r", "--no-clobber", *found, str(self.home_path)])
        return ServiceStep(command, lambda: [*home_copy.copy_home(source, self.home_path, account)])

    def _plan_unit_file(self, command: Sequence[str], *, namespaces: bool) -> ServiceStep:
        text = systemd_unit.render_unit(self.scope, command, namespaces=namespaces)

        def write_unit() -> Sequence[str]:
            systemd_unit.write_unit(self.unit_path, text)
            return ()

        return ServiceStep(f"tee {self.unit_path}", write_unit)


def _find_account_id(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def _has_foreign_files(home: Path, owner: int | None) -> bool:
    """Return whether a home has files of a user other than the service's."""
    return any(
        Path(folder, name).lstat().st_uid != owner
        for folder, folders, names in os.walk(home)
        for name in (*folders, *names)
    )
