"""The tools offered in a turn."""

from collections.abc import Mapping, Sequence

from fakes.scripted import turn_run
from hypothesis import given
from hypothesis import strategies as st

from thinker.protocol.messages import ToolChoice, ToolSpec
from thinker.toolcalls.ranking import Ranking
from thinker.toolcalls.select import (
    CAP,
    FINDER,
    MAX_RECENT,
    Selection,
    Selector,
    select_named_tools,
    select_tools,
)


def tool(name: str, description: str = "", *keywords: str, always: bool = False) -> ToolSpec:
    """A tool without parameters."""
    fields = {"always": always, "keywords": keywords}
    return ToolSpec(name=name, description=description, parameters={}, **fields)


MANY = [tool(f"other_{number:02}", "Does another thing with the data") for number in range(40)] + [
    tool("mail_list", "Lists the emails of an inbox"),
    tool("mail_send", "Sends an email to a person"),
    tool("calendar_list", "Lists events of a calendar"),
    tool("store_fact", "Stores a fact", always=True),
]


def offer(
    tools: Sequence[ToolSpec],
    text: str,
    *,
    required: Mapping[str, str] | None = None,
    recent: Sequence[str] = (),
    cap: int = CAP,
) -> Selection:
    """Select with a new ranking."""
    return select_tools(
        tools, text, required=required or {}, recent=recent, ranking=Ranking(), cap=cap
    )


def chosen(text: str, *recent: str, **required: str) -> Selection:
    """Select from many tools."""
    return offer(MANY, text, required=required, recent=recent)


def test_few_tools_are_all_offered() -> None:
    """Up to the cap there is nothing to choose."""
    selection = offer(
        [tool("b"), tool("a", always=True)],
        "hello",
    )
    assert [spec.name for spec in selection.tools] == ["a", "b"]
    assert selection.reasons == {"a": "always", "b": "all fit"}


def test_of_many_tools_those_that_share_words_with_the_text_are_offered() -> None:
    """Plurals match singulars, and tools that are always on need no match."""
    selection = chosen("Is there an email in my inbox?")
    assert selection.reasons["mail_list"] == "matched, rank 1"
    assert selection.reasons["mail_send"] == "matched, rank 2"
    assert selection.reasons["store_fact"] == "always"
    assert "calendar_list" not in selection.reasons


def test_best_matches_fill_the_cap() -> None:
    """Rare words decide, however many tools share the common ones."""
    selection = offer(MANY, "another thing: list my calendar events", cap=3)
    assert set(selection.reasons) == {"store_fact", "calendar_list", "mail_list"}


def test_required_and_recent_tools_come_on_top_of_the_cap() -> None:
    """The reason says which playbook; a tool that does not exist is reported."""
    required = {"other_01": "daily", "gone": "daily"}
    selection = offer(MANY, "send email", required=required, recent=("other_02", "lost"), cap=2)
    assert selection.reasons == {
        "store_fact": "always",
        "mail_send": "matched, rank 1",
        "other_01": "playbook daily",
        "other_02": "recent",
    }
    assert selection.missing == {"gone": "daily"}


def test_missing_tool_is_reported_even_when_all_fit() -> None:
    """The warning does not depend on the number of tools."""
    assert offer([], "", required={"gone": "p"}).missing == {"gone": "p"}


def test_task_is_offered_exactly_the_tools_that_it_names() -> None:
    """However many; missing ones are reported; an empty list offers no tool."""
    selection = select_named_tools(MANY, ["mail_send", "gone", "mail_list", "mail_send"])
    assert [spec.name for spec in selection.tools] == ["mail_list", "mail_send"]
    assert selection.reasons == {"mail_list": "the task", "mail_send": "the task"}
    assert selection.missing == {"gone": "the task"}
    assert select_named_tools(MANY, []).tools == ()


def test_recent_tools_are_bounded_newest_first() -> None:
    """A turn with many tools does not make later turns expensive."""
    recent = [f"other_{number:02}" for number in range(20)]
    selection = chosen("hello", *recent)
    assert [name for name, why in selection.reasons.items() if why == "recent"] == (
        recent[:MAX_RECENT]
    )


def test_order_of_the_offer_does_not_depend_on_text_or_registry() -> None:
    """Providers cache the tool list by its bytes."""
    forward = offer(MANY, "list emails")
    backward = offer(MANY[::-1], "emails list")
    assert forward == backward
    assert [spec.name for spec in forward.tools] == sorted(forward.reasons)


@given(st.text(), st.integers(0, 60), st.lists(st.sampled_from([spec.name for spec in MANY])))
def test_every_offered_tool_exists_once_and_has_a_reason(
    text: str, cap: int, recent: list[str]
) -> None:
    """Whatever the text, the offer is consistent and bounded."""
    selection = offer(MANY, text, required={"mail_send": "p"}, recent=recent, cap=cap)
    assert [spec.name for spec in selection.tools] == sorted(selection.reasons)
    assert len(selection.tools) <= max(cap, 1) + 1 + MAX_RECENT
    assert {"store_fact", "mail_send"} <= set(selection.reasons)


def test_words_that_call_for_a_kind_of_tool_bring_it() -> None:
    """Whatever the descriptions say; a text without such words gets the default kinds."""
    tools = [
        *MANY,
        tool("gmail_box", "Zzz"),
        tool("web_search", "Qqq"),
        tool("recall_facts", "Www"),
    ]
    asked = offer(tools, "anything unread?")
    assert asked.reasons["gmail_box"] == "route mail"
    assert "web_search" not in asked.reasons
    idle = offer(tools, "hm")
    assert idle.reasons == {
        "store_fact": "always",
        "web_search": "route search",
        "recall_facts": "route memory",
    }


def test_names_in_any_style_are_taken_apart() -> None:
    """Both listFiles and list_files; stems match, and query syntax is escaped."""
    ranking = Ranking()
    tools = {spec.name: spec for spec in (tool("fs_listFiles"), tool("fs_remove"), tool("x", "né"))}
    assert ranking.rank_tools(tools, 'which "file" AND listing* NEAR(') == ["fs_listFiles"]
    assert ranking.rank_tools(tools, "NÉ") == ["x"]
    assert ranking.rank_tools(tools, "?!") == []


def test_ranking_follows_the_catalogue() -> None:
    """A new tool, or a changed description, is found at the next turn."""
    ranking = Ranking()
    assert ranking.rank_tools({"a": tool("a", "tea")}, "tea") == ["a"]
    assert ranking.rank_tools({"a": tool("a", "coffee")}, "tea") == []
    assert ranking.rank_tools({"b": tool("b", "tea")}, "tea") == ["b"]


def test_a_selection_stands_until_something_changes_that_it_depends_on() -> None:
    """The same object, so that its fingerprint stays cached."""
    selector = Selector()
    few = turn_run("hello", tool("a"), tool("b"))
    one = selector.select_for_turn(few, "hello", {}, {})
    assert selector.select_for_turn(few, "else", {}, {}) is one
    assert selector.select_for_turn(few, "else", {"b": "p"}, {}).reasons == {
        "a": "all fit",
        "b": "all fit",
    }
    asked = few.model_copy(update={"tool_choice": ToolChoice(mode="function", name="c")})
    assert selector.select_for_turn(asked, "", {}, {}).missing == {"c": "the tool choice"}
    fixed = few.model_copy(update={"required_tools": ("b",)})
    assert [tool.name for tool in selector.select_for_turn(fixed, "", {}, {}).tools] == ["b"]


def test_a_selection_of_many_tools_depends_on_the_text() -> None:
    """And on its embedding."""
    selector = Selector()
    many = turn_run("", *MANY)
    for text, name in (("the inbox", "mail_list"), ("events", "calendar_list")):
        assert selector.select_for_turn(many, text, {}, {}).reasons[name] == "matched, rank 1"
    meant = selector.select_for_turn(many, "events", {}, {"mail_send": 0.9})
    assert meant.reasons["mail_send"] == "meaning 0.90"


DEMANDED = (
    tool(FINDER, "There are:", always=True),
    tool("plan", "", "agenda"),
    tool("count", "", "sum", "how many"),
    tool("mail"),
)


def test_tool_on_demand_is_offered_when_it_is_called_for() -> None:
    """By its keyword, its name, a playbook or its last use; the rest can be found."""
    assert offer(DEMANDED, "hello").reasons == {FINDER: "always", "mail": "all fit"}
    assert [spec.name for spec in offer(DEMANDED, "hello").rest] == ["count", "plan"]
    assert offer(DEMANDED, "How many are there?").reasons["count"] == "keyword"
    assert offer(DEMANDED, "use count: 3").reasons["count"] == "keyword"
    assert offer(DEMANDED, "", required={"plan": "day"}).reasons["plan"] == "playbook day"
    assert offer(DEMANDED, "", recent=["plan"]).reasons["plan"] == "recent"
    near = select_tools(
        DEMANDED, "", required={}, recent=(), ranking=Ranking(), scores={"plan": 0.9, "count": 0.1}
    )
    assert near.reasons["plan"] == "keyword"
    assert "count" not in near.reasons


def test_finder_names_every_tool_on_demand_and_goes_when_there_is_no_more() -> None:
    """The same text whatever is offered, so that prompt caches can match it."""
    for text in ("hello", "agenda"):
        finder = {spec.name: spec for spec in offer(DEMANDED, text).tools}[FINDER]
        assert finder.description == "There are: count, plan"
    assert FINDER not in offer(DEMANDED, "sum of the agenda").reasons
    assert FINDER not in offer([DEMANDED[0], tool("mail")], "").reasons


def test_without_a_finder_no_tool_is_on_demand() -> None:
    """Nothing that an agent may use is out of reach."""
    assert offer(DEMANDED[1:], "").reasons == dict.fromkeys(("count", "mail", "plan"), "all fit")
    assert offer(DEMANDED[1:], "").rest == ()


def test_of_many_tools_those_that_do_not_fit_can_be_found() -> None:
    """Those on demand compete with the others for the cap; the finder is always there."""
    selection = offer([*MANY, *DEMANDED], "Is there an email in my inbox, and on the agenda?")
    assert {FINDER, "mail_list", "plan"} <= set(selection.reasons)
    assert {"calendar_list", "count"} <= {spec.name for spec in selection.rest}


def test_messages_that_call_for_the_same_tools_have_the_very_same_offer() -> None:
    """The same object, so that nothing is computed again and the bytes are the same."""
    selector = Selector()
    turn = turn_run("", *DEMANDED)
    one = selector.select_for_turn(turn, "hello", {}, {})
    assert selector.select_for_turn(turn, "what else?", {}, {}) is one
    assert selector.select_for_turn(turn, "the agenda", {}, {}).tools != one.tools
    assert selector.select_for_turn(turn, "thanks", {}, {}).tools == one.tools
    many = turn_run("", *MANY)
    two = selector.select_for_turn(many, "the inbox", {}, {}).tools
    assert selector.select_for_turn(many, "the inbox please", {}, {}).tools is two
