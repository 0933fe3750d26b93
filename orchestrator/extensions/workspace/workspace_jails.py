"""The jails of workspaces and web access, as `orchestrator doctor` tries them."""

import os
import sys

from orchestrator.extensions.workspace import command_jail, system_folders, web, workspace
from orchestrator.extensions.workspace.command_order import CommandLimits, CommandOrder
from orchestrator.extensions.workspace.workspace_settings import WorkspaceSettings
from orchestrator.findings import JailKind, ProbeTargets
from orchestrator.jail_broker.answered_calls import AnsweredCalls
from thinker.protocol.sandbox import SandboxLevel, SandboxReport

STARTS = frozenset({"fork", "exec"})  # they start commands
OWN = frozenset({"mode"})  # of any file, which Landlock does not look at, for code of the daemon
# Programs and libraries are in reach, and so is the folder with the program of the daemon.
CODE = frozenset({"program: list"})
FOLDER = "none"  # of an agent that does not exist


def _enter_workspace_jail(targets: ProbeTargets) -> SandboxReport:
    command_jail.drop_capabilities()  # as the tool host does for its servers
    settings = WorkspaceSettings(
        workspace=str(targets.home / "workspaces" / FOLDER),
        paths={},
        skills=(),
        skill_globs=(),
        network=False,
        hosts=(),
        jailed=True,
        limits=CommandLimits(),
        output=0,
    )
    return _build_report(workspace.enter_jail(settings))


def _enter_web_jail(targets: ProbeTargets) -> SandboxReport:
    del targets
    command_jail.drop_capabilities()
    return _build_report(web.enter_jail())


def _enter_command_jail(targets: ProbeTargets) -> SandboxReport:
    """Be a command of a workspace without other folders and network."""
    del targets
    order = CommandOrder(
        argv=(sys.executable,),
        cwd="/",
        env={},
        read=system_folders.list_configuration_files(),
        run=[*system_folders.list_program_folders(), *system_folders.list_code_folders()],
    )
    os.setsid()
    command_jail.drop_capabilities()
    answers = AnsweredCalls(())
    answers.fork_inside()
    try:
        command_jail.enter_jail(order, answers.inside)
    except command_jail.NotJailedError as error:
        return SandboxReport("off", str(error))
    return SandboxReport("full")


def _build_report(lacking: tuple[str, ...]) -> SandboxReport:
    """Return the report of a server that says what the kernel lacks."""
    if not lacking:
        return SandboxReport("full")
    level: SandboxLevel = "no-landlock" if lacking == ("landlock",) else "keys-only"
    return SandboxReport(level, f"the kernel lacks: {', '.join(lacking)}")


JAIL_KINDS = (
    JailKind("workspace server", _enter_workspace_jail, STARTS | OWN | CODE),
    JailKind("web server", _enter_web_jail, STARTS | OWN | CODE | {"TCP"}),
    JailKind("run_command", _enter_command_jail, STARTS | CODE),
)
