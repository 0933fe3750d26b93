"""The paths of the program's data, and of a daemon's files below its home."""

import hashlib
import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from orchestrator.errors import ConfigError

HOME_VARIABLE = "ORCHESTRATOR_HOME"
MAX_SOCKET_PATH = 107  # bytes in sockaddr_un.sun_path without the final NUL, unix(7)
PACKAGE = Path(__file__).parent
BY_PEOPLE = ("agents.json", "keys.env", "prompts", "skills", "agents", "hooks")  # written by people
KEYS = ("keys.env", "http-token", ".env")  # `api-token` is a digest that opens nothing
CHATS = "@chats"  # behind an agent's id, in which no "@" can be
FOLDER_VARIABLE = "ORCHESTRATOR_FOLDER"  # of each call: the name of its chat's workspace
CACHES = ("__pycache__", ".cache", ".tmp")  # folders at any depth of a home


class _InHome(cached_property[Path]):
    """A path below the home of the `Paths` object that has the attribute."""

    def __init__(self, name: str) -> None:
        super().__init__(lambda paths: paths.home / name)


@dataclass(frozen=True)
class Paths:
    """Every file and directory of a daemon, below its home."""

    home: Path

    journal = _InHome("journal.db")
    """The journal's database."""
    lock = _InHome("lock")
    """The file that a running daemon holds locked."""
    log = _InHome("daemon.log")
    """The newest log lines; older ones are in ``daemon.log.1``."""
    http_token = _InHome("http-token")
    """The token of agents' ports; only this user can read it."""
    keys = _InHome("keys.env")
    """The keys and tokens that the environment does not set; `keys_file` reads it."""
    api_token = _InHome("api-token")
    """The digest of the token that opens the OpenAI-compatible endpoints."""
    last_good = _InHome("agents.last-good.json")
    """Copy of the last valid agents.json."""
    prompts_last_good = _InHome("prompts.last-good.json")
    """Copy of the last valid prompt definitions."""
    chat_history = _InHome("chat-history")
    """What the user wrote in `orchestrator chat`; only this user can read it."""
    agent_prompts = _InHome("agent-prompts")
    """Directory of ``<agentId>.txt`` with the systemPrompt of each agent that has one."""
    personas = _InHome("agents")
    """Directory of a folder for each agent: its own skills, and by default its persona."""
    skills = _InHome("skills")
    """The user's own skills."""
    prompts = _InHome("prompts")
    """The user's own prompt definitions."""
    workspaces = _InHome("workspaces")
    """Directory of the operator's folder for each agent that has a workspace, and of its chats'."""
    last_selftest = _InHome("selftest.json")
    """The result of the last crash self-test that ran to its end."""
    page_on = _InHome("page-on")
    """Exists while the page is switched on."""
    page_socket = _InHome("run/page.sock")
    """The socket of the page, if it listens on one; its path is shorter than the command line's."""
    pushed = _InHome("pushed-config.json")
    """The applied version of the shared configuration, and its files."""
    history = _InHome("history")
    """Directory of a folder for each configured text, with a file for each version of it."""
    hooks = _InHome("hooks")
    """Directory of ``<id>.py`` of each hook."""

    @property
    def control_socket(self) -> Path:
        """The socket of the command line.

        Raises:
            ConfigError: the path is longer than Linux allows for a socket.
        """
        path = self.home / "run" / "control.sock"
        excess = len(bytes(path)) - MAX_SOCKET_PATH
        if excess > 0:
            raise ConfigError(
                f"{HOME_VARIABLE}: {self.home} is {excess} bytes too long for a unix socket in it; "
                "choose a shorter path"
            )
        return path

    def list_skill_directories(self, agent_id: str) -> tuple[Path, ...]:
        """Return the directories of an agent's skills; later ones win over earlier ones."""
        return (find_bundled_path("skills"), self.skills, self.personas / agent_id / "skills")

    def find_chat_workspaces(self, agent_id: str) -> Path:
        """Return the directory of an agent's workspaces that are not the operator's."""
        return self.workspaces / f"{agent_id}{CHATS}"

    def list_scope_workspaces(self, scopes: Collection[str]) -> list[Path]:
        """List the existing workspaces of scopes, of all agents."""
        names = sorted(map(name_scope_folder, scopes))
        return [path for name in names for path in self.workspaces.glob(f"*{CHATS}/{name}")]

    def create_directories(self) -> None:
        """Create the directories, accessible only to this user.

        Raises:
            ConfigError: a directory cannot be created, or the path is too long for the socket.
        """
        run = self.control_socket.parent
        folders = (self.home, run, self.agent_prompts, self.personas, self.skills, self.prompts)
        try:
            for folder in folders:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.home.chmod(0o700)
        except OSError as error:
            raise ConfigError(
                f"{HOME_VARIABLE}: {error.filename or self.home} cannot be prepared "
                f"({error.strerror}); choose a directory that you own"
            ) from error


def name_scope_folder(scope: str) -> str:
    """Return the name of the folder of a part of the memory: readable, and of no other part.

    The operator's part has no name of its own.
    """
    if not scope:
        return ""
    digest = hashlib.sha256(scope.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{re.sub('[^A-Za-z0-9_]+', '-', scope).strip('-')[:40]}-{digest[:16]}"


@cache
def find_bundled_path(name: str) -> Path:
    """Return a path in the program's data: ``config``, ``prompts`` or ``skills``."""
    installed = PACKAGE / "_data" / name
    return installed if installed.exists() else PACKAGE.parent / name


def format_home_option(home: str) -> str:
    """Return the option for commands in another terminal; empty for the usual home."""
    usual = Path("~/.orchestrator").expanduser()
    return "" if Path(home) == usual else f" --home {shlex.quote(home)}"
