"""A fault of a foreign part is caught, and shown to the operator."""

from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from orchestrator.daemon.guarded_part import GuardedPart
from orchestrator.extension import Part, Route, Screen


class Gossip(Part):
    """Hears of each reply, and chokes on one."""

    heard: list[str]

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        self.heard = []
        return (self.heard.append, self.choke)

    def choke(self, agent_id: str) -> None:
        """Fail for one agent."""
        if agent_id == "bone":
            raise ValueError("it stuck")


class Mute(Part):
    """Cannot even say what it listens to."""

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        raise ValueError("no word")


class Slip(Part):
    """Misspells a hook, and has a method of its own."""

    def list_hint(self) -> Iterable[str]:
        return ()

    def answer(self) -> None:
        """Nothing that the daemon calls."""


def test_fault_of_a_listener_reaches_no_turn() -> None:
    """The others hear of it, and status tells until it has heard of the next."""
    part = Gossip(build_view())
    guarded = GuardedPart("gossip", part.daemon, lambda _: part)
    listeners = [*guarded.list_reply_listeners()]
    for agent_id in ("work", "home", "bone"):
        for listener in listeners:
            listener(agent_id)
    assert part.heard == ["work", "home", "bone"]
    (hint,) = guarded.list_hints()
    assert "the extension 'gossip' failed: the listener choke: ValueError: it stuck" in hint


def test_part_that_names_no_listeners_has_none() -> None:
    """Neither one with a fault, nor one that does not listen."""
    mute = GuardedPart("mute", build_view(), Mute)
    assert [*mute.list_reply_listeners()] == []
    assert "no word" in "".join(mute.list_hints())
    plain = GuardedPart("plain", build_view(), Part)
    assert [*plain.list_reply_listeners(), *plain.list_hints()] == []


def test_misspelled_hook_is_shown() -> None:
    """Other methods that the daemon does not call are the part's own affair."""
    (hint,) = GuardedPart("slip", build_view(), Slip).list_hints()
    assert "list_hint: nothing calls this method; rename it to 'list_hints'" in hint


def throw(fault: BaseException, *_: object) -> None:
    """Raise this."""
    raise fault


class Lamp(Part):
    """Fails in the hook that is asked, as often as it is told to."""

    faults: dict[str, BaseException]
    answers = 0

    def __getattribute__(self, name: str) -> Any:
        fault = object.__getattribute__(self, "__dict__").get("faults", {}).pop(name, None)
        return object.__getattribute__(self, name) if fault is None else partial(throw, fault)

    def list_hints(self) -> Iterable[str]:
        return ("it shines",)


def build_view(tasks: Any = None) -> Any:
    """A daemon, as far as a part looks at it."""
    return SimpleNamespace(tasks=tasks or SimpleNamespace(start=None), turns="all of them")


def guard_lamp(**faults: BaseException) -> GuardedPart:
    """A guarded part that raises each of these once."""
    lamp = Lamp(build_view())
    lamp.faults = faults
    return GuardedPart("lamp", lamp.daemon, lambda _: lamp)


@pytest.mark.parametrize(
    ("hook", "default"),
    [
        ("list_routes", []),
        ("list_screens", []),
        ("list_children", {}),
        ("list_reply_listeners", []),
    ],
)
def test_exit_in_a_hook_is_a_fault_of_that_hook(hook: str, default: object) -> None:
    """It would end the event loop, and with it the daemon."""
    guarded = guard_lamp(**{hook: SystemExit("no oil")})
    assert getattr(guarded, hook)() == default
    problem, own = guarded.list_hints()
    assert f"the extension 'lamp' failed: {hook}: SystemExit: no oil" in problem
    assert own == "it shines"


def test_fault_is_forgotten_when_the_hook_succeeds_again() -> None:
    """What passed is in the log."""
    guarded = guard_lamp(list_hints=ValueError("flicker"))
    assert "flicker" in "".join(guarded.list_hints())
    assert [*guarded.list_hints()] == ["it shines"]


def test_part_that_cannot_be_built_is_a_hint() -> None:
    """Nothing else is asked of it."""

    def fail(_: object) -> Part:
        raise ValueError("no socket")

    (hint,) = GuardedPart("lamp", build_view(), fail).list_hints()
    assert "the extension 'lamp' failed: build_part: ValueError: no socket" in hint


async def test_part_that_cannot_be_opened_is_asked_nothing_more() -> None:
    """Its hooks would fail for want of what `open` prepares, and hide the cause."""
    guarded = guard_lamp(open=ValueError("no oil"), list_routes=ValueError("no wick"))
    await guarded.open()
    await guarded.run()
    assert [*guarded.list_routes()] == []
    (hint,) = guarded.list_hints()
    assert "open: ValueError: no oil" in hint


async def test_tasks_of_a_part_fail_alone() -> None:
    """Those of the daemon go on, also where the part ends its process."""

    async def fail() -> None:
        raise SystemExit("burnt down")

    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())

        def build(daemon: Any) -> Part:
            daemon.tasks.start_soon(fail)
            return Part(daemon)

        guarded = GuardedPart("lamp", build_view(tasks), build)
    assert "the task fail: SystemExit: burnt down" in "".join(guarded.list_hints())


async def test_part_sees_what_the_daemon_got_before_it_is_opened() -> None:
    """Its view is one of its own, because of its tasks."""
    view, views = build_view(), list[Any]()

    def build(own: Any) -> None:
        views.append(own)

    guarded = GuardedPart("lamp", view, build)
    view.intake = "made later"
    await guarded.open()
    assert (views[0].intake, views[0].turns) == ("made later", "all of them")


def test_endpoints_and_screens_know_their_extension() -> None:
    """So that the log names it."""
    added: Any = SimpleNamespace(
        list_routes=lambda: [Route("/lamp", build_view)],
        list_screens=lambda: [Screen("lamp", "Lamp", build_view)],
    )
    guarded = GuardedPart("lamp", build_view(), lambda _: added)
    assert [one.extension for one in guarded.list_routes()] == ["lamp"]
    assert [one.extension for one in guarded.list_screens()] == ["lamp"]
