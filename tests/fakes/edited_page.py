"""The page with its editors, over a home whose texts and versions are real."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.edited_home import AGENTS, EditedHome
from fakes.page import PageBench, Person, page_bench
from httpx import Response

from orchestrator.extensions.versions.versions_part import build_methods


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
        bench.answers |= build_methods(home.keeper, "web:ann")
        yield EditedPage(bench, home, await bench.login())


async def _read(answer: Response) -> str:
    assert answer.status_code == 200, answer.text
    return answer.text
