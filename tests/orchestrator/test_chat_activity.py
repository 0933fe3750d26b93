"""Who hears of what happens in a chat."""

from orchestrator.chat_activity import ActivityEvent, AnswerGrew, ChatActivity

GREW = AnswerGrew("t1", "so far")


def test_watchers_of_a_chat_hear_of_it_and_others_do_not() -> None:
    """Each of them, until its block ends; a chat without watchers costs no event."""
    activity, first, second = ChatActivity(), list[ActivityEvent](), list[ActivityEvent]()
    with activity.watch_chat("console/local/a/", first.append):
        with activity.watch_chat("console/local/a/", second.append):
            activity.tell_watchers("console/local/a/", GREW)
            activity.tell_watchers("console/local/b/", GREW)
        activity.tell_watchers("console/local/a/", GREW)
        assert activity.is_watched("console/local/a/")
        assert not activity.is_watched("console/local/b/")
    activity.tell_watchers("console/local/a/", GREW)
    assert not activity.is_watched("console/local/a/")
    assert (first, second) == ([GREW, GREW], [GREW])


def test_fault_of_a_watcher_harms_neither_the_turn_nor_other_watchers() -> None:
    """It is logged; `tell` returns as always."""
    activity, seen = ChatActivity(), list[ActivityEvent]()

    def broken(happening: ActivityEvent) -> None:
        raise RuntimeError(happening)

    with activity.watch_chat("c", broken), activity.watch_chat("c", seen.append):
        activity.tell_watchers("c", GREW)
    assert seen == [GREW]
