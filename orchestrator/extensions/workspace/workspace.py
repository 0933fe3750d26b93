"""The MCP server of one agent's workspaces (argument: SETTINGS).

The server jails itself before it reads anything: it can reach the workspaces, the folders of its
settings, the agent's skills and the programs of the machine. Each call works in the folder of its
chat alone; each command gets a narrower jail in addition.
"""

import json
import os
import re
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path

from orchestrator.extensions.workspace import refusals, roots, system_folders, workspace_folders
from orchestrator.extensions.workspace.command_order import CommandOrder
from orchestrator.extensions.workspace.command_runner import CommandRunner, describe_result
from orchestrator.extensions.workspace.file_search import Question
from orchestrator.extensions.workspace.file_tools import PATH, FileTools
from orchestrator.extensions.workspace.roots import Root, Roots
from orchestrator.extensions.workspace.served_tool import (
    Arguments,
    CallFailure,
    NamedFile,
    Picture,
    ServedTool,
    build_integer_schema,
)
from orchestrator.extensions.workspace.stdio_loop import StdioLoop
from orchestrator.extensions.workspace.workspace_settings import WorkspaceSettings
from orchestrator.home_paths import FOLDER_VARIABLE
from orchestrator.jail_broker.host_proxy import HostProxy
from thinker.jail import argument_checks, calls, hardening, landlock, seccomp
from thinker.jail.landlock import Grants

LAST_RESORT = "500"  # commands inherit it: without memory, they end before the daemon
SEARCH_SECONDS = 20
MAX_COMMAND = 100_000  # characters
MAX_KEPT = 64  # chats whose tools are kept
FOLDER_NAME = re.compile(r"[A-Za-z0-9_-]{16,64}")
DENIED = calls.list_group_calls(
    "io_uring", "namespaces", "mounts", "kernel", "machine", "shared_memory"
)
COMMAND = (
    "Run a shell command in the workspace and return its exit code and output. It has {seconds}"
    " seconds, {memory} MiB of memory and {network}. Temporary files belong in $TMPDIR: there is no"
    " /tmp. Everything that it started ends with it."
)


class WorkspaceTools:
    """The tools of one workspace."""

    def __init__(
        self, settings: WorkspaceSettings, runner: CommandRunner, proxy: HostProxy | None
    ) -> None:
        self._settings = settings
        self._home = Root(Path(settings.workspace), writable=True)
        folders = [Root(Path(path), writable=yes) for path, yes in settings.paths.items()]
        skills = [
            roots.build_skill_root(Path(path), settings.skill_globs) for path in settings.skills
        ]
        self._roots = Roots(self._home, (*folders, *skills))
        self._skills = skills
        self._runner = runner
        self._proxy = proxy
        workspace_folders.link_skills(self._home.path, self._list_skill_folders())

    def list_tools(self) -> tuple[ServedTool, ...]:
        limits = self._settings.limits
        about = COMMAND.format(
            seconds=limits.seconds,
            memory=limits.memory // 1024**2,
            network=_describe_network(self._settings),
        )
        return (
            *FileTools(self._roots).list_tools(),
            ServedTool(
                "search_files",
                "Find files of the workspace by name, or lines in them by text or regular"
                " expression.",
                {
                    "path": f"{PATH} The workspace itself if omitted.",
                    "glob": "Names of files, such as *.py or docs/**/*.md; all if omitted.",
                    "text": "Text that a line has.",
                    "pattern": "Python regular expression that a line matches.",
                },
                self.search_files,
                read_only=True,
            ),
            ServedTool(
                "run_command",
                about,
                {
                    "command": "The command, for bash.",
                    "cwd": f"Folder to run it in. {PATH} The workspace itself if omitted.",
                    "seconds": build_integer_schema(
                        f"Time limit; {limits.seconds} if omitted, and at most."
                    ),
                },
                self.run_command,
                ("command",),
                open_world=self._settings.network or bool(self._settings.hosts),
            ),
        )

    def run_command(self, arguments: Arguments) -> str:
        text = arguments.get_text("command")
        if "\0" in text or len(text) > MAX_COMMAND:
            raise CallFailure(f"the command has a NUL or more than {MAX_COMMAND} characters")
        most = self._settings.limits.seconds
        seconds = arguments.get_number("seconds", most, 1, most)
        argv = (system_folders.find_shell(), "-c", text)
        order = self._build_order(
            argv, self._resolve_folder(arguments.get_text("cwd", ".")), seconds
        )
        result = self._runner.run(order, arguments.cancelled)
        if result.end.refused:
            raise CallFailure(f"the command did not run: {result.end.problem}")
        told, command = describe_result(result), f"cd {order.cwd}; {text}"
        advice = refusals.list_advice(told, command, self._home.path, self._list_skill_folders())
        return "\n".join([told, *advice])

    def search_files(self, arguments: Arguments) -> str:
        place = self._roots.resolve_path(arguments.get_text("path", "."))
        texts = {key: arguments.get_text(key, "") for key in ("glob", "text", "pattern")}
        folder = self._resolve_folder(place.shown_path)
        restricted = place.root in self._skills and not place.parts
        admitted = _list_admitted_names(place.root) if restricted else ()
        question = json.dumps(asdict(Question(folder, **texts, admitted=admitted)))
        argv = (
            sys.executable,
            "-P",
            "-m",
            "orchestrator.extensions.workspace.file_search",
            question,
        )
        order = self._build_order(argv, folder, SEARCH_SECONDS)
        readable = [*order.run, *system_folders.list_code_folders()]
        order = replace(order, run=readable, network=False, proxy=0, env=_build_locale_variables())
        result = self._runner.run(order, arguments.cancelled)
        if result.end.problem:
            raise CallFailure(f"the search was ended: {result.end.problem}")
        if result.end.code:
            raise CallFailure(result.stderr.strip() or "the search failed")
        return result.stdout.rstrip("\n")

    def _resolve_folder(self, path: str) -> str:
        """Return the real path of a folder that a command may run in."""
        with roots.open_path(self._roots.resolve_path(path), roots.FOLDER) as fd:
            return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - where the kernel says it is

    def _build_order(self, argv: Sequence[str], cwd: str, seconds: int) -> CommandOrder:
        settings, home = self._settings, self._settings.workspace
        temporary = str(workspace_folders.prepare_temporary_folder(self._home.path, time.time()))
        programs = Path(settings.programs) if settings.programs else None
        workspace_folders.link_python(self._home.path, programs)
        skills = self._list_skill_folders()
        workspace_folders.link_skills(self._home.path, skills)
        readable = [path for path, writable in settings.paths.items() if not writable]
        return CommandOrder(
            argv=argv,
            cwd=cwd,
            env={
                **_build_locale_variables(),
                "PATH": system_folders.build_search_path(home, settings.programs),
                "HOME": home,
                "PWD": cwd,
                "SHELL": argv[0],
                "TERM": "dumb",
                **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temporary),
                **_build_proxy_variables(self._proxy),
                "GIT_CONFIG_NOSYSTEM": "1",  # which git may not read
            },
            read=system_folders.list_configuration_files(),
            run=[
                *system_folders.list_program_folders(),
                *filter(None, (settings.programs,)),
                *readable,
                *map(str, skills),
            ],
            write=[home, *(path for path, writable in settings.paths.items() if writable)],
            network=settings.network or self._proxy is not None,
            proxy=0 if self._proxy is None else self._proxy.port,
            jailed=settings.jailed,
            limits=replace(settings.limits, seconds=seconds),
        )

    def _list_skill_folders(self) -> list[Path]:
        """Return the folders of the skills that the agent may use, as they are now."""
        return [root.path / name for root in self._skills for name in _list_admitted_names(root)]


class ChatWorkspaces:
    """The tools of all workspaces of an agent: a call works in the folder of its chat."""

    def __init__(self, settings: WorkspaceSettings) -> None:
        self._settings = settings
        self._runner = CommandRunner(settings.output)
        self._proxy = HostProxy(settings.hosts) if settings.hosts else None
        self._find_tools = lru_cache(MAX_KEPT)(self._build_tools)
        if settings.programs:
            Path(settings.programs).mkdir(mode=0o700, exist_ok=True)

    def list_tools(self) -> tuple[ServedTool, ...]:
        """Return the tools; each one finds out by its call in which folder it works."""
        known = self._find_tools("").values()
        return tuple(replace(tool, run=partial(self._run_tool, tool.name)) for tool in known)

    def _run_tool(self, name: str, arguments: Arguments) -> str | Picture | NamedFile:
        folder = arguments.env.get(FOLDER_VARIABLE, "")
        if folder:
            Path(self._find_folder(folder)).mkdir(mode=0o700, exist_ok=True)
        return self._find_tools(folder)[name].run(arguments)

    def _build_tools(self, folder: str) -> Mapping[str, ServedTool]:
        settings = self._settings
        if folder:
            settings = replace(settings, workspace=self._find_folder(folder))
        tools = WorkspaceTools(settings, self._runner, self._proxy).list_tools()
        return {tool.name: tool for tool in tools}

    def _find_folder(self, name: str) -> str:
        if not self._settings.chats or not FOLDER_NAME.fullmatch(name):
            raise CallFailure("this chat's workspace cannot be found; tell the operator")
        return f"{self._settings.chats}/{name}"


def _list_admitted_names(root: Root) -> tuple[str, ...]:
    """Return the names directly below a root that the agent may use."""
    try:
        names = sorted(os.listdir(root.path))  # noqa: PTH208 - names are enough
    except OSError:
        return ()
    return tuple(name for name in names if root.admits(name))


def _describe_network(settings: WorkspaceSettings) -> str:
    """Describe the network access of a command."""
    if settings.hosts:
        return f"of the network only {', '.join(settings.hosts)}, through a proxy"
    return "the network" if settings.network else "no network, not even to this machine"


def _build_proxy_variables(proxy: HostProxy | None) -> dict[str, str]:
    """Return the variables by which programs find a proxy, in both spellings."""
    if proxy is None:
        return {}
    names = ("http_proxy", "https_proxy", "all_proxy")
    url = f"http://127.0.0.1:{proxy.port}"
    return {spelled: url for name in names for spelled in (name, name.upper())}


def _build_locale_variables() -> dict[str, str]:
    """Return the language and time zone, the only variables of the daemon for commands."""
    return {
        key: value
        for key, value in os.environ.items()
        if key in ("LANG", "TZ") or key.startswith("LC_")
    }


def enter_jail(settings: WorkspaceSettings) -> tuple[str, ...]:
    """Confine this server; return the protections that the kernel lacks."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(LAST_RESORT, "ascii")
    lacking = hardening.harden_process()
    open_network = settings.network or bool(settings.hosts)
    grants = Grants(
        read=(*system_folders.list_configuration_files(), "/proc", "/dev/random", "/dev/urandom"),
        run=(
            *system_folders.list_program_folders(),
            *system_folders.list_code_folders(),
            *settings.skills,
            *(path for path, writable in settings.paths.items() if not writable),
        ),
        write=("/dev/null", "/dev/zero", "/dev/full"),
        all=(
            *filter(None, (settings.workspace, settings.chats)),
            *(path for path, yes in settings.paths.items() if yes),
        ),
        connect=None if open_network else (),
        bind=None if open_network else (),
    )
    denied = DENIED if open_network else DENIED | calls.list_group_calls("sockets")
    checks = (
        argument_checks.NO_NAMESPACES,
        *argument_checks.OWN_LIMITS,
        argument_checks.allow_families(socket.AF_INET, socket.AF_INET6),
    )
    return (
        *lacking,
        *landlock.restrict_access(grants),
        *seccomp.install_filter(seccomp.build_filter(denied, checks)),
    )


def main(text: str) -> None:
    settings = WorkspaceSettings.from_json(text)
    lacking = enter_jail(settings)
    if lacking:
        sys.stderr.write(f"the workspace's jail lacks: {', '.join(lacking)}\n")
    StdioLoop("workspace", ChatWorkspaces(settings).list_tools()).serve()


if __name__ == "__main__":
    main(sys.argv[1])
