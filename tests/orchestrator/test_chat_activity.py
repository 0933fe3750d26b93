"""Who hears of what happens in a chat."""

from orchestrator.chat_activity import AnswerGrew, ChatActivity, Happening

GREW = AnswerGrew("t1", "so far")


def test_watchers_of_a_chat_hear_of_it_and_others_do_not() -> None:
    """Each of them, until its block ends; a chat without watchers costs no event."""
    activity, first, second = ChatActivity(), list[Happening](), list[Happening]()
    with activity.watching("console/local/a/", first.append):
        with activity.watching("console/local/a/", second.append):
            activity.tell("console/local/a/", GREW)
            activity.tell("console/local/b/", GREW)
        activity.tell("console/local/a/", GREW)
        assert activity.watched("console/local/a/")
        assert not activity.watched("console/local/b/")
    activity.tell("console/local/a/", GREW)
    assert not activity.watched("console/local/a/")
    assert (first, second) == ([GREW, GREW], [GREW])


def test_fault_of_a_watcher_harms_neither_the_turn_nor_other_watchers() -> None:
    """It is logged; `tell` returns as always."""
    activity, seen = ChatActivity(), list[Happening]()

    def broken(happening: Happening) -> None:
        raise RuntimeError(happening)

    with activity.watching("c", broken), activity.watching("c", seen.append):
        activity.tell("c", GREW)
    assert seen == [GREW]
