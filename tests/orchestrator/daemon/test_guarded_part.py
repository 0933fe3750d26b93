"""A fault of a foreign part is caught, and shown to the operator."""

from collections.abc import Callable, Iterable
from typing import Any

from orchestrator.daemon.guarded_part import GuardedPart
from orchestrator.extension import Part


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
    """It is called again after the next reply."""
    view: Any = None
    part = Gossip(view)
    guarded = GuardedPart("gossip", part)
    listeners = [*guarded.list_reply_listeners()]
    for agent_id in ("work", "bone", "home"):
        for listener in listeners:
            listener(agent_id)
    assert part.heard == ["work", "bone", "home"]
    (hint,) = guarded.list_hints()
    assert "the extension 'gossip' failed: ValueError: it stuck" in hint


def test_part_that_names_no_listeners_has_none() -> None:
    """Neither one with a fault, nor one that does not listen."""
    view: Any = None
    mute = GuardedPart("mute", Mute(view))
    assert [*mute.list_reply_listeners()] == []
    assert "no word" in "".join(mute.list_hints())
    plain = GuardedPart("plain", Part(view))
    assert [*plain.list_reply_listeners(), *plain.list_hints()] == []


def test_misspelled_hook_is_shown() -> None:
    """Other methods that the daemon does not call are the part's own affair."""
    view: Any = None
    (hint,) = GuardedPart("slip", Slip(view)).list_hints()
    assert "nothing calls its method 'list_hint'; rename it to 'list_hints'" in hint
