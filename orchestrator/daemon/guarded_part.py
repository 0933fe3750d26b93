"""Guard the part of a third-party extension: a fault disables only that part."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeAlias, TypeVar

import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import Adapter
from orchestrator.errors import FAULTS, describe_fault
from orchestrator.extension import DaemonView, Part, Route, Screen
from orchestrator.installed import list_unknown_methods
from orchestrator.processes.child_process import ChildProcess
from thinker.protocol.peer import Peer, RequestHandler

CHANNELS = (
    "an extension in the supervisor brings no channels; a channel is a folder, see: orchestrator"
    " help extensions"
)
ALIKE = 0.85  # of 1: how alike two names are if one is the other, misspelled
T = TypeVar("T")
Listener: TypeAlias = Callable[[str], None]
Work: TypeAlias = Callable[..., Awaitable[object]]
log = structlog.get_logger()


class GuardedPart(Part):
    """Calls the hooks of a part; logs what one raises, and shows it as a hint until it succeeds.

    A part that cannot be built or opened is replaced by one that does nothing.
    """

    def __init__(
        self, name: str, daemon: DaemonView, build: Callable[[DaemonView], Part | None]
    ) -> None:
        super().__init__(daemon)
        self._name, self._part = name, Part(daemon)
        self._problems: dict[str, str] = {}  # by what failed
        self._view, start = copy(daemon), daemon.tasks.start
        vars(self._view)["tasks"] = SimpleNamespace(start_soon=self._start_task, start=start)
        with self._catch_faults("build_part"):
            self._part = build(self._view) or self._part
        for method in list_unknown_methods(type(self._part), Part):
            for hook in get_close_matches(method, vars(Part), 1, ALIKE):
                self._problems[method] = f"nothing calls this method; rename it to {hook!r}"

    async def list_adapters(self) -> Sequence[Adapter]:
        if await self._await("list_adapters", self._part.list_adapters):
            self._problems["list_adapters"] = CHANNELS
        return ()

    async def open(self) -> None:
        vars(self._view).update(vars(self.daemon), tasks=self._view.tasks)
        await self._await("open", self._part.open)
        if "open" in self._problems:
            self._part = Part(self.daemon)

    async def run(self) -> None:
        await self._await("run", self._part.run)

    async def close(self) -> None:
        await self._await("close", self._part.close)

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        self._ask("adopt_configuration", bool, old, new)

    def look_again(self) -> None:
        self._ask("look_again", bool)

    def reread_skills(self) -> None:
        self._ask("reread_skills", bool)

    def list_reply_listeners(self) -> Iterable[Listener]:
        return [partial(self._tell, one) for one in self._ask("list_reply_listeners", tuple)]

    def list_routes(self) -> Iterable[Route]:
        return self._ask("list_routes", self._sign)

    def list_screens(self) -> Iterable[Screen]:
        return self._ask("list_screens", self._sign)

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        return self._ask("list_control_methods", dict, peer)

    def list_hints(self) -> Iterable[str]:
        hints = self._ask("list_hints", tuple)
        for what, problem in self._problems.items():
            yield f"the extension {self._name!r} failed: {what}: {problem}; see: orchestrator logs"
        yield from hints

    def list_children(self) -> Mapping[str, ChildProcess | None]:
        return self._ask("list_children", dict)

    def _ask(self, hook: str, read: Callable[[Any], T], *arguments: object) -> T:
        """Return what a hook answers, as ``read`` takes it; nothing after a fault of either."""
        with self._catch_faults(hook):
            return read(getattr(self._part, hook)(*arguments))
        return read(())

    async def _await(self, what: str, function: Work, *arguments: object) -> object:
        with self._catch_faults(what):
            return await function(*arguments)
        return None

    def _sign(self, added: Iterable[Any]) -> Sequence[Any]:
        return [replace(one, extension=self._name) for one in added]

    def _tell(self, listener: Listener, agent_id: str) -> None:
        with self._catch_faults(f"the listener {getattr(listener, '__name__', listener)}"):
            listener(agent_id)

    def _start_task(self, function: Work, *arguments: object, name: object = None) -> None:
        what = f"the task {name or getattr(function, '__name__', function)}"
        self.daemon.tasks.start_soon(self._await, what, function, *arguments)

    @contextmanager
    def _catch_faults(self, what: str) -> Iterator[None]:
        try:
            yield
        except FAULTS as error:
            log.exception("extension_broke", extension=self._name, where=what)
            self._problems[what] = describe_fault(error)
        else:
            self._problems.pop(what, None)
