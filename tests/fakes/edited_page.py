"""The page with its editors, over a home whose texts and versions are real."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from fakes.edited_home import AGENTS, EditedHome
from fakes.page import PageBench, Person, page_bench
from httpx import Response
from pydantic import BaseModel, JsonValue

from orchestrator.control import editing
from orchestrator.control.editing import FileEdit, FileName, UndoRequest, VersionName
from orchestrator.errors import OrchestratorError
from thinker.protocol.peer import FAILED, Params, RequestHandler, RpcError

BY = "web:ann"
M = TypeVar("M", bound=BaseModel)


@dataclass
class EditedPage:
    """An operator with a browser, and the home whose texts are edited."""

    bench: PageBench
    home: EditedHome
    person: Person

    async def open(self, path: str) -> str:
        """Open an address and return what it shows."""
        return await _read(await self.person.get(path))

    async def send(self, path: str, **fields: str) -> str:
        """Send a form and return what it shows, or what it leads to."""
        answer = await self.person.post(path, {**fields, "once": f"form-{len(self.bench.acts):04}"})
        if answer.status_code == 303:
            return await self.open(answer.headers["location"])
        return await _read(answer)


@asynccontextmanager
async def edited_page(folder: Path, agents: str = AGENTS) -> AsyncIterator[EditedPage]:
    """A page over a home in a folder, with an agents.json."""
    home = EditedHome(folder / "home", agents)
    async with page_bench(folder) as bench:
        bench.answers |= build_methods(home)
        yield EditedPage(bench, home, await bench.login())


def build_methods(home: EditedHome) -> dict[str, RequestHandler]:
    """The methods for texts, as the supervisor has them."""
    keeper = home.keeper
    return {
        editing.FILE_LIST: lambda _: keeper.list_texts(),
        editing.FILE_READ: partial(_answer, VersionName, keeper.read_text),
        editing.FILE_CHECK: partial(_answer, FileEdit, keeper.check_edit),
        editing.FILE_SAVE: partial(_answer, FileEdit, partial(keeper.save_edit, by=BY)),
        editing.FILE_HISTORY: partial(_answer, FileName, keeper.load_history),
        editing.FILE_UNDO: partial(_answer, UndoRequest, partial(keeper.undo_change, by=BY)),
    }


async def _answer(
    model: type[M], work: Callable[[M], Awaitable[BaseModel]], params: JsonValue
) -> Params:
    try:
        return await work(model.model_validate(params))
    except OrchestratorError as error:
        raise RpcError(FAILED, str(error)) from error


async def _read(answer: Response) -> str:
    assert answer.status_code == 200, answer.text
    return answer.text
