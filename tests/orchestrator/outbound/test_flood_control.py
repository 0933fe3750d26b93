"""Which chats wait after a platform's refusals, and until when."""

from orchestrator.outbound.flood_control import BOT, FloodControl, Hold

CHANNEL = "telegram"


def test_refusal_in_a_chat_holds_that_chat_for_its_time() -> None:
    """Others are served, and so is this one afterwards."""
    flood = FloodControl()
    assert flood.hold_chat(CHANNEL, "1", 5.0, 100.0) == Hold(CHANNEL, "1", 5.0)
    assert flood.find_seconds_left(CHANNEL, "1", 102.0) == 3.0
    assert flood.find_seconds_left(CHANNEL, "2", 102.0) == 0.0
    assert flood.find_seconds_left("console", "1", 102.0) == 0.0
    assert flood.find_seconds_left(CHANNEL, "1", 105.0) == 0.0
    assert flood.list_holds(105.0) == ()


def test_refusal_in_a_second_chat_meanwhile_holds_the_bot() -> None:
    """In every chat of the channel; once it is over, a refusal means its chat again."""
    flood = FloodControl()
    flood.hold_chat(CHANNEL, "1", 5.0, 100.0)
    assert flood.hold_chat(CHANNEL, "2", 30.0, 101.0) == Hold(CHANNEL, BOT, 30.0)
    assert flood.find_seconds_left(CHANNEL, "3", 101.0) == 30.0
    assert flood.find_seconds_left(CHANNEL, "1", 110.0) == 21.0
    assert flood.hold_chat(CHANNEL, "2", 5.0, 140.0) == Hold(CHANNEL, "2", 5.0)


def test_second_refusal_never_shortens_a_hold() -> None:
    """The longer request counts."""
    flood = FloodControl()
    flood.hold_chat(CHANNEL, "1", 50.0, 100.0)
    assert flood.hold_chat(CHANNEL, "1", 5.0, 101.0) == Hold(CHANNEL, "1", 49.0)
    assert flood.list_holds(101.0) == (Hold(CHANNEL, "1", 49.0),)


def test_servers_of_webhooks_are_held_apart() -> None:
    """One that is busy says nothing about another."""
    flood = FloodControl()
    flood.hold_chat("hook", "a", 10, 0)
    assert flood.hold_chat("hook", "b", 20, 0).chat_id == "b"
    assert flood.find_seconds_left("hook", "c", 0) == 0
