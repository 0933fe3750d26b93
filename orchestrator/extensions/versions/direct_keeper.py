"""Edit texts by the daemon, or in the home itself while no daemon runs."""

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TypeVar

import anyio
from anyio import to_thread
from pydantic import BaseModel

from orchestrator.agentsfile import AgentsFile
from orchestrator.cli.client import ask_daemon
from orchestrator.cli.direct_journal import load_moved_chats
from orchestrator.cli.loaded_settings import load_agents, load_environment
from orchestrator.cli.other_user import require_owner
from orchestrator.errors import ConfigError, NotRunningError
from orchestrator.extensions.versions.file_kinds import ConfiguredHome, build_file_kinds
from orchestrator.extensions.versions.text_keeper import TextKeeper
from orchestrator.extensions.versions.version_files import VersionFiles
from orchestrator.files import run_off_loop
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock

R = TypeVar("R", bound=BaseModel)
BY = "operator"


def edit_texts(
    settings: Settings,
    method: str,
    params: BaseModel,
    result: type[R],
    work: Callable[[TextKeeper], Awaitable[R]],
) -> R:
    """Have the daemon answer a request; without a daemon, lock the home and do the ``work`` here.

    Raises:
        OrchestratorError: there is no home, or the request is refused.
    """
    try:
        return ask_daemon(settings, method, params, result)
    except NotRunningError:
        if not settings.home.is_dir():
            raise ConfigError(
                f"there is no home at {settings.home}; make one with: orchestrator init"
            ) from None
        require_owner(settings.home)
        with hold_lock(settings):
            return anyio.run(work, build_keeper(settings))


def build_keeper(settings: Settings) -> TextKeeper:
    """Return a keeper of the files of a home without a daemon; what is written counts later."""

    async def load_moves() -> Mapping[str, Mapping[str, str]]:
        return await to_thread.run_sync(load_moved_chats, settings)

    async def apply() -> None:
        """Do nothing: the next start reads the files."""

    @cache
    def get_agents() -> AgentsFile:
        try:
            return load_agents(settings)
        except ConfigError:
            return AgentsFile.model_construct(agents=())

    home = ConfiguredHome(
        settings=settings,
        environ=load_environment(settings),
        load_moves=load_moves,
        get_agents=get_agents,
        apply=apply,
        off_loop=run_off_loop,
        in_thread=to_thread.run_sync,
    )
    return TextKeeper(
        kinds=build_file_kinds(home),
        versions=VersionFiles(settings.paths.history),
        in_thread=to_thread.run_sync,
        clock=lambda: time.time_ns() // 1_000_000,
        find_note=home.find_note,
    )
