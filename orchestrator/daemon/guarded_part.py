"""Guard the part of a third-party extension: a fault disables only that part."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial

import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import Adapter
from orchestrator.extension import Part, Route, Screen
from orchestrator.installed import list_unknown_methods
from orchestrator.processes.child_process import ChildProcess
from thinker.protocol.peer import Peer, RequestHandler

CHANNELS = (
    "an extension in the supervisor brings no channels; a channel is a folder, see: orchestrator"
    " help extensions"
)
ALIKE = 0.85  # of 1: how alike two names are if one is the other, misspelled
log = structlog.get_logger()


class GuardedPart(Part):
    """Calls the methods of a part; logs whatever it raises and shows it as a hint."""

    def __init__(self, name: str, part: Part) -> None:
        super().__init__(part.daemon)
        self._name, self._part = name, part
        self._problem = ""
        for method in list_unknown_methods(type(part), Part):
            for hook in get_close_matches(method, vars(Part), 1, ALIKE):
                self._note_problem(f"nothing calls its method {method!r}; rename it to {hook!r}")

    async def list_adapters(self) -> Sequence[Adapter]:
        """Return no adapters: a third-party channel runs in a jailed process."""
        with self._catch_faults():
            if await self._part.list_adapters():
                self._note_problem(CHANNELS)
        return ()

    async def open(self) -> None:
        with self._catch_faults():
            await self._part.open()

    async def run(self) -> None:
        with self._catch_faults():
            await self._part.run()

    async def close(self) -> None:
        with self._catch_faults():
            await self._part.close()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        with self._catch_faults():
            self._part.adopt_configuration(old, new)

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        with self._catch_faults():
            return [partial(self._tell_listener, one) for one in self._part.list_reply_listeners()]
        return ()

    def list_routes(self) -> Iterable[Route]:
        with self._catch_faults():
            return tuple(self._part.list_routes())
        return ()

    def list_screens(self) -> Iterable[Screen]:
        with self._catch_faults():
            return tuple(self._part.list_screens())
        return ()

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        with self._catch_faults():
            return dict(self._part.list_control_methods(peer))
        return {}

    def list_hints(self) -> Iterable[str]:
        if self._problem:
            yield f"the extension {self._name!r} failed: {self._problem}; see: orchestrator logs"
        with self._catch_faults():
            yield from tuple(self._part.list_hints())

    def list_children(self) -> Mapping[str, ChildProcess | None]:
        with self._catch_faults():
            return dict(self._part.list_children())
        return {}

    def _tell_listener(self, listener: Callable[[str], None], agent_id: str) -> None:
        with self._catch_faults():
            listener(agent_id)

    @contextmanager
    def _catch_faults(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # third-party code may fail in any way
            log.exception("extension_broke", extension=self._name)
            self._note_problem(f"{type(error).__name__}: {error}")

    def _note_problem(self, problem: str) -> None:
        self._problem = problem
