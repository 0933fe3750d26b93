"""The MCP server of one agent's workspace: ``python -P -m orchestrator.hands.workspace SETTINGS``.

It jails itself before it reads anything: it can reach the workspace, the folders of its settings,
the agent's skills and the programs of the machine. Each command gets a narrower jail in addition.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from orchestrator.hands import refusals, roots, system_folders, workspace_folders
from orchestrator.hands.command_order import CommandOrder
from orchestrator.hands.command_runner import CommandRunner, described
from orchestrator.hands.file_search import Question
from orchestrator.hands.file_tools import PATH, FileTools
from orchestrator.hands.hand_tool import Arguments, HandFailure, HandTool, integer
from orchestrator.hands.roots import Root, Roots
from orchestrator.hands.stdio_loop import StdioLoop
from orchestrator.hands.workspace_settings import WorkspaceSettings
from orchestrator.jailer.host_proxy import HostProxy
from thinker.jail import calls, hardening, landlock, seccomp
from thinker.jail.landlock import Grants

LAST_RESORT = "500"  # commands inherit it: without memory, they end before the daemon
SEARCH_SECONDS = 20
MAX_COMMAND = 100_000  # characters
DENIED = calls.group("io_uring", "namespaces", "mounts", "kernel", "machine")
COMMAND = (
    "Run a shell command in the workspace and return its exit code and output. It has {seconds}"
    " seconds, {memory} MiB of memory and {network}. Temporary files belong in $TMPDIR: there is no"
    " /tmp. Everything that it started ends with it."
)


class WorkspaceTools:
    """The tools of one workspace."""

    def __init__(self, settings: WorkspaceSettings) -> None:
        self._settings = settings
        self._home = Root(Path(settings.workspace), writable=True)
        folders = [Root(Path(path), writable=yes) for path, yes in settings.paths.items()]
        skills = [roots.skill_root(Path(path), settings.skill_globs) for path in settings.skills]
        self._roots = Roots(self._home, (*folders, *skills))
        self._skills = skills
        self._runner = CommandRunner(settings.output)
        self._proxy = HostProxy(settings.hosts) if settings.hosts else None
        workspace_folders.link_skills(self._home.path, self._skill_folders())

    def tools(self) -> tuple[HandTool, ...]:
        limits = self._settings.limits
        about = COMMAND.format(
            seconds=limits.seconds,
            memory=limits.memory // 1024**2,
            network=_reach(self._settings),
        )
        return (
            *FileTools(self._roots).tools(),
            HandTool(
                "search_files",
                "Find files of the workspace by name, or lines in them by text or regular"
                " expression.",
                {
                    "path": f"{PATH} The workspace itself if omitted.",
                    "glob": "Names of files, such as *.py or docs/**/*.md; all if omitted.",
                    "text": "Text that a line has.",
                    "pattern": "Python regular expression that a line matches.",
                },
                self.search,
                read_only=True,
            ),
            HandTool(
                "run_command",
                about,
                {
                    "command": "The command, for bash.",
                    "cwd": f"Folder to run it in. {PATH} The workspace itself if omitted.",
                    "seconds": integer(f"Time limit; {limits.seconds} if omitted, and at most."),
                },
                self.command,
                ("command",),
                open_world=self._settings.network or bool(self._settings.hosts),
            ),
        )

    def command(self, arguments: Arguments) -> str:
        text = arguments.text("command")
        if "\0" in text or len(text) > MAX_COMMAND:
            raise HandFailure(f"the command has a NUL or more than {MAX_COMMAND} characters")
        most = self._settings.limits.seconds
        seconds = arguments.number("seconds", most, 1, most)
        argv = (system_folders.shell(), "-c", text)
        order = self._order(argv, self._folder(arguments.text("cwd", ".")), seconds)
        result = self._runner.run(order, arguments.canceled)
        if result.end.refused:
            raise HandFailure(f"the command did not run: {result.end.problem}")
        told, command = described(result), f"cd {order.cwd}; {text}"
        advice = refusals.advice(told, command, self._home.path, self._skill_folders())
        return "\n".join([told, *advice])

    def search(self, arguments: Arguments) -> str:
        place = self._roots.place(arguments.text("path", "."))
        texts = {key: arguments.text(key, "") for key in ("glob", "text", "pattern")}
        folder = self._folder(place.shown)
        restricted = place.root in self._skills and not place.parts
        admitted = _admitted(place.root) if restricted else ()
        question = json.dumps(asdict(Question(folder, **texts, admitted=admitted)))
        argv = (sys.executable, "-P", "-m", "orchestrator.hands.file_search", question)
        order = self._order(argv, folder, SEARCH_SECONDS)
        readable = [*order.run, *system_folders.own_code()]
        order = replace(order, run=readable, network=False, proxy=0, env=_plain())
        result = self._runner.run(order, arguments.canceled)
        if result.end.problem:
            raise HandFailure(f"the search was ended: {result.end.problem}")
        if result.end.code:
            raise HandFailure(result.stderr.strip() or "the search failed")
        return result.stdout.rstrip("\n")

    def _folder(self, path: str) -> str:
        """Return the real path of a folder that a command may run in."""
        with roots.opened(self._roots.place(path), roots.FOLDER) as fd:
            return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - where the kernel says it is

    def _order(self, argv: Sequence[str], cwd: str, seconds: int) -> CommandOrder:
        settings, home = self._settings, self._settings.workspace
        temporary = str(workspace_folders.temporary(self._home.path, time.time()))
        workspace_folders.link_python(self._home.path)
        skills = self._skill_folders()
        workspace_folders.link_skills(self._home.path, skills)
        readable = [path for path, writable in settings.paths.items() if not writable]
        return CommandOrder(
            argv=argv,
            cwd=cwd,
            env={
                **_plain(),
                "PATH": system_folders.search_path(home),
                "HOME": home,
                "PWD": cwd,
                "SHELL": argv[0],
                "TERM": "dumb",
                **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), temporary),
                **_proxied(self._proxy),
                "GIT_CONFIG_NOSYSTEM": "1",  # which it may not read
            },
            read=system_folders.configuration(),
            run=[*system_folders.programs(), *readable, *map(str, skills)],
            write=[home, *(path for path, writable in settings.paths.items() if writable)],
            network=settings.network or self._proxy is not None,
            proxy=0 if self._proxy is None else self._proxy.port,
            jailed=settings.jailed,
            limits=replace(settings.limits, seconds=seconds),
        )

    def _skill_folders(self) -> list[Path]:
        """Return the folders of the skills that the agent may use, as they are now."""
        return [root.path / name for root in self._skills for name in _admitted(root)]


def _admitted(root: Root) -> tuple[str, ...]:
    """Return the names directly below a root that the agent may use."""
    try:
        names = sorted(os.listdir(root.path))  # noqa: PTH208 - names are enough
    except OSError:
        return ()
    return tuple(name for name in names if root.admits(name))


def _reach(settings: WorkspaceSettings) -> str:
    """Return in words what the network of a command is."""
    if settings.hosts:
        return f"of the network only {', '.join(settings.hosts)}, through a proxy"
    return "the network" if settings.network else "no network, not even to this machine"


def _proxied(proxy: HostProxy | None) -> dict[str, str]:
    """Return the variables by which programs find a proxy, in both spellings."""
    if proxy is None:
        return {}
    names = ("http_proxy", "https_proxy", "all_proxy")
    url = f"http://127.0.0.1:{proxy.port}"
    return {spelled: url for name in names for spelled in (name, name.upper())}


def _plain() -> dict[str, str]:
    """Return the language and time zone, which are all that a command learns of the daemon's."""
    return {
        key: value
        for key, value in os.environ.items()
        if key in ("LANG", "TZ") or key.startswith("LC_")
    }


def jail(settings: WorkspaceSettings) -> tuple[str, ...]:
    """Confine this server; return what the kernel lacks."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(LAST_RESORT, "ascii")
    lacking = hardening.harden()
    open_network = settings.network or bool(settings.hosts)
    grants = Grants(
        read=(*system_folders.configuration(), "/proc", "/dev/random", "/dev/urandom"),
        run=(
            *system_folders.programs(),
            *system_folders.own_code(),
            *settings.skills,
            *(path for path, writable in settings.paths.items() if not writable),
        ),
        write=("/dev/null", "/dev/zero", "/dev/full"),
        all=(settings.workspace, *(path for path, yes in settings.paths.items() if yes)),
        connect=None if open_network else (),
        bind=None if open_network else (),
    )
    denied = DENIED if open_network else DENIED | calls.group("sockets")
    return (*lacking, *landlock.restrict(grants), *seccomp.install(seccomp.program(denied)))


def main(text: str) -> None:
    settings = WorkspaceSettings.from_json(text)
    lacking = jail(settings)
    if lacking:
        sys.stderr.write(f"the workspace's jail lacks: {', '.join(lacking)}\n")
    StdioLoop("workspace", WorkspaceTools(settings).tools()).serve()


if __name__ == "__main__":
    main(sys.argv[1])
