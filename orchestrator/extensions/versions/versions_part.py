"""Versions in a daemon: what the page and the command line edit, and what they did not."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.editing import (
    FILE_CHECK,
    FILE_HISTORY,
    FILE_LIST,
    FILE_READ,
    FILE_SAVE,
    FILE_UNDO,
    FileEdit,
    FileName,
    UndoRequest,
    VersionName,
)
from orchestrator.control.protocol import UNKNOWN_NAME
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.versions.file_kinds import (
    ConfiguredHome,
    HomeFileKind,
    build_file_kinds,
)
from orchestrator.extensions.versions.text_keeper import TextKeeper
from orchestrator.extensions.versions.unserved_tools import list_served_tools
from orchestrator.extensions.versions.version_files import VersionFiles
from orchestrator.journal.turns import chat_moves
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import FAILED, Params, RequestHandler, RpcError

M = TypeVar("M", bound=BaseModel)


class VersionsPart(Part):
    """Keeps versions of all texts while the daemon runs."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._changed = Wakeup()

    @cached_property
    def _home(self) -> ConfiguredHome:
        daemon, machine = self.daemon, self.daemon.machine
        return ConfiguredHome(
            settings=daemon.settings,
            environ=daemon.environ,
            load_moves=partial(daemon.store.read, chat_moves.load_all_moves),
            get_agents=daemon.get_agents_file,
            apply=self._apply_files,
            off_loop=machine.off_loop,
            in_thread=machine.in_thread,
            list_served=self._list_served_tools,
            get_loaded=lambda: daemon.configuration.loaded,
        )

    def _list_served_tools(self) -> Mapping[str, str]:
        return list_served_tools(self.daemon.get_agents_file(), self.daemon.operations.servers)

    @cached_property
    def _file_kinds(self) -> tuple[HomeFileKind, ...]:
        return build_file_kinds(self._home)

    @cached_property
    def keeper(self) -> TextKeeper:
        """The keeper of the texts of all extensions."""
        daemon = self.daemon
        added = (kind for part in daemon.parts for kind in part.list_editable_kinds())
        return TextKeeper(
            kinds=(*self._file_kinds, *added),
            versions=VersionFiles(daemon.settings.paths.history),
            in_thread=daemon.machine.in_thread,
            clock=daemon.machine.clock,
            problems=lambda: daemon.configuration.problems,
            find_note=self._home.find_note,
            judge=self._judge_edit,
        )

    async def run(self) -> None:
        """Keep a version of each file that was edited by other means, also before the start."""
        while True:
            changed = self._changed.changed
            await self.keeper.notice_changes(self._file_kinds)
            await changed.wait()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        del old, new
        self._changed.wake()

    def reread_skills(self) -> None:
        self._changed.wake()

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return build_methods(self.keeper, by)

    async def _judge_edit(self, edit: FileEdit, by: str) -> tuple[str, ...]:
        found = [await part.judge_edit(edit, by) for part in self.daemon.parts]
        return tuple(objection for objections in found for objection in objections)

    async def _apply_files(self) -> None:
        """Put written files in force without waiting until they are noticed."""
        await self.daemon.operations.reload_configuration()
        for part in self.daemon.parts:
            part.reread_skills()


def build_methods(keeper: TextKeeper, by: str) -> Mapping[str, RequestHandler]:
    """Return the methods of the control socket for one person."""
    return {
        FILE_LIST: lambda _: keeper.list_texts(),
        FILE_READ: partial(_answer, VersionName, keeper.read_text),
        FILE_CHECK: partial(_answer, FileEdit, keeper.check_edit),
        FILE_SAVE: partial(_answer, FileEdit, partial(keeper.save_edit, by=by)),
        FILE_HISTORY: partial(_answer, FileName, keeper.load_history),
        FILE_UNDO: partial(_answer, UndoRequest, partial(keeper.undo_change, by=by)),
    }


async def _answer(
    model: type[M], work: Callable[[M], Awaitable[BaseModel]], params: JsonValue
) -> Params:
    try:
        return await work(model.model_validate(params))
    except (OrchestratorError, TimeoutError) as error:
        code = UNKNOWN_NAME if isinstance(error, UnknownNameError) else FAILED
        raise RpcError(code, str(error)) from error
