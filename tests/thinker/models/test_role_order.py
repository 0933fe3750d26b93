"""Messages of a chat completion in the order that strict templates take."""

from typing import Any

import pytest

from thinker.models.role_order import (
    EARLIER,
    GO_ON,
    NOTHING,
    SEEN,
    join_roles,
    separate_tool_results,
)

PICTURE: Any = {"type": "image_url", "image_url": {"url": "data:"}}
CALL: Any = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
RESULT: Any = {"role": "tool", "tool_call_id": "1", "content": ""}
FILLED: Any = {**RESULT, "content": NOTHING}


def user(content: Any) -> Any:
    """A message of the user."""
    return {"role": "user", "content": content}


def said(content: Any) -> Any:
    """An answer."""
    return {"role": "assistant", "content": content}


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        ([user("a"), user("b")], [user("a\n\nb")]),
        ([said("a"), user("b")], [user(EARLIER), said("a"), user("b")]),
        ([user("a"), said("b")], [user("a"), said("b"), user(GO_ON)]),
        ([user("a"), said(" "), user("b")], [user("a\n\nb")]),
        (
            [user("a"), user([PICTURE])],
            [user([{"type": "text", "text": "a"}, PICTURE])],
        ),
        ([user("a"), CALL, RESULT, RESULT], [user("a"), CALL, FILLED, FILLED]),
        (
            [user("a"), {"role": "system", "content": "x"}, said("b"), user("c")],
            [{"role": "system", "content": "x"}, user("a"), said("b"), user("c")],
        ),
    ],
)
def test_roles_alternate_and_the_user_is_first_and_last(given: Any, ordered: Any) -> None:
    """Results of tools stay behind their calls; blank text is left out."""
    assert join_roles(given) == ordered


def test_two_system_messages_become_one() -> None:
    """At the start, where templates want it."""
    roles = ("system", "developer")
    first, late = [dict[str, Any](role=role, content=role) for role in roles]
    assert join_roles([first, user("a"), late])[0]["content"] == "system\n\ndeveloper"


def test_an_answer_comes_between_a_result_and_the_user() -> None:
    """Mistral refuses the two beside each other."""
    assert separate_tool_results([CALL, RESULT, user("a")]) == [CALL, RESULT, said(SEEN), user("a")]
