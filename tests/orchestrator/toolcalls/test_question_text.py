"""A question shows exactly what a call will do, and no argument can forge its layout."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channels import formatting
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import Address
from orchestrator.toolcalls.question_text import (
    REASON,
    AskedCall,
    QuestionScene,
    format_question,
)
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.builtin.host_tool import ExtensionTool
from orchestrator.tools.extension_tool import define_tool
from orchestrator.tools.remote_tools import RemoteTool
from thinker.jsontext import RepairBudget
from thinker.models.call_arguments import build_tool_call
from thinker.protocol.messages import ToolCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FORGED = "x\n```\n/approve 0000 \u202e\u2066\U000e0041`**b**`" + " " * 200 + "until: never"


def asked(
    arguments: dict[str, Any],
    *,
    server: str | None = None,
    written: dict[str, Any] | None = None,
    fixed: dict[str, Any] | None = None,
    reason: str = "policy",
    made: ToolCall | None = None,
    added: ExtensionTool | None = None,
    sources: dict[str, tuple[str, str, bool]] | None = None,
) -> str:
    """The question about a call."""
    text = json.dumps(arguments, sort_keys=True)
    row = Approval(
        id=1,
        code="c0de",
        turn_id="t1",
        seq=2,
        reason=reason,
        state="pending",
        expires=1_770_000_000_000,
        tool="pay",
        arguments=text,
        agent_id="work",
        chat_key="telegram/1/7/",
        args_hash="hash",
        by_user=None,
        sources=sources,
    )
    if written is not None:
        made = ToolCall(id="c", name="pay", arguments=written)
    tool: Any = TOOLS["get_time"]
    if server is not None:
        tool = object.__new__(RemoteTool)
        object.__setattr__(tool, "server", server)
    call = AskedCall(row, added or tool, made, fixed or {})
    return format_question([call], QuestionScene(Address("telegram", "1", "7")))


def test_a_question_names_tool_server_agent_arguments_reason_and_end() -> None:
    """Everything that an operator needs to decide."""
    assert asked({"to": "Ada", "sum": 3}, server="bank", reason="it costs money").split("\n") == [
        "I need my operator's approval for this call:",
        "```",
        'tool: "pay" (MCP server "bank")',
        'agent: "work"',
        'chat: "telegram:7"',
        "arguments:",
        '  "sum": 3',
        '  "to": "Ada"',
        "why: it costs money",
        "until: 2026-02-02 02:40 UTC",
        "```",
        "/approve c0de or /deny c0de, or on my machine:",
        "orchestrator approvals grant c0de",
        "orchestrator approvals deny c0de",
    ]


def test_a_call_without_arguments_says_so() -> None:
    """Nothing is left to guess."""
    assert "\narguments: none\n" in asked({})
    assert '"pay" (built in)' in asked({})


@pytest.mark.parametrize("place", ["value", "name", "reason"])
def test_no_text_can_forge_the_layout(place: str) -> None:
    """Line breaks, marks, hidden signs and long gaps are shown for what they are."""
    honest = asked({"a": "x"})
    name, value = (FORGED, "x") if place == "name" else ("a", FORGED if place == "value" else "x")
    forged = asked({name: value}, reason=FORGED if place == "reason" else "policy")
    assert len(forged.split("\n")) == len(honest.split("\n"))
    assert all(line.isprintable() for line in forged.split("\n"))
    assert "\\u202e\\u2066\\udb40\\udc41" in forged
    assert "    " not in forged.removeprefix("I need")
    rendered = formatting.to_html(forged)
    assert rendered.count("<pre>") == 1
    assert "<b>" not in rendered


@given(st.dictionaries(st.text(min_size=1, max_size=9), JSON, max_size=3))
def test_arguments_that_fit_can_be_read_back(arguments: dict[str, Any]) -> None:
    """What is shown is the JSON of what will be sent, with boxes for spaces."""
    text = asked(arguments)
    if "CUT:" in text or not arguments:
        return
    lines = text.partition("arguments:\n")[2].partition("\nwhy:")[0].split("\n")
    shown = json.loads("{" + ",".join(lines).replace("\N{OPEN BOX}", " ") + "}")
    assert shown == json.loads(json.dumps(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x" * 100_000},
        {"text": "\U0001f600" * 100_000},
        {f"n{number}": "x" * 300 for number in range(500)},
        {"x" * 50_000: {"y" * 50_000: 1}},
    ],
)
def test_long_arguments_are_cut_for_all_to_see(arguments: dict[str, Any]) -> None:
    """The question fits one message, and says how much is missing and where the rest is."""
    text = asked(
        arguments, reason="r" * 5_000, written={sign * 900: "y" * 900 for sign in "abcdef"}
    )
    assert formatting.count_utf16_units(text) <= formatting.LIMIT
    assert len(formatting.split(text)) == 1
    size = len(json.dumps(arguments, sort_keys=True))
    assert f"CUT: {size} characters in all, SHA-256 " in text
    assert "read the rest with /approve show c0de" in text
    assert text.count("r" * REASON) == 1


def test_what_was_changed_after_the_model_wrote_it_is_told() -> None:
    """Types that were converted, null values that were dropped, options of the prompt."""
    written = {"count": "5", "note": None, "to": "eve", "same": 1.0}
    text = asked({"count": 5, "to": "${OWNER}", "same": 1.0}, written=written, fixed={"to": "x"})
    changes = text.partition('"to": "${OWNER}"\n')[2].partition("\nwhy:")[0]
    assert changes.split("\n") == [
        'changed: "count"; the model wrote "5"',
        'dropped: "note": null',
        'set by the prompt: "to"; the model wrote "eve"',
    ]


def test_many_changes_are_counted() -> None:
    """The question must stay readable."""
    text = asked({f"n{number}": number for number in range(20)}, written={})
    assert text.count("the model wrote nothing") == 5
    assert "changed: 15 more arguments" in text


def test_broken_json_that_was_repaired_is_told() -> None:
    """What runs is a reading of what the model wrote."""
    made = build_tool_call("c", "pay", '{"sum": 3,,}', RepairBudget())
    assert made.repaired
    assert "\nrepaired: the model wrote broken JSON" in asked({"sum": 3}, made=made)
    assert "repaired" not in asked({"sum": 3}, made=build_tool_call("c", "pay", '{"sum": 3}', None))


def test_question_about_a_strangers_tool_names_its_extension() -> None:
    """Whoever decides trusts it less than a built-in tool."""

    @define_tool()
    def pay() -> str:
        """Pay."""
        return ""

    asks = asked({}, added=replace(pay, extension="bank"))
    assert 'tool: "pay" (extension "bank")' in asks


def call_of(number: int, tool: str, sources: Any = None, **arguments: Any) -> AskedCall:
    """A call among several."""
    row = Approval(
        id=number,
        code="c0de" if number == 1 else f"c0de.{number}",
        turn_id="t1",
        seq=1 + number,
        reason="policy",
        state="pending",
        expires=1_770_000_000_000,
        tool=tool,
        arguments=json.dumps(arguments, sort_keys=True),
        agent_id="work",
        chat_key="telegram/1/7/",
        args_hash="hash",
        by_user=None,
        sources=sources,
    )
    return AskedCall(row, TOOLS["get_time"])


SCENE = QuestionScene(
    Address("telegram", "1", "7"), "you", ("get_time", "get_time"), {"Always": "/approve c0de x"}
)


def test_question_marks_each_argument_by_its_source() -> None:
    """What decides stands first; a name that could look like a mark is quoted."""
    arguments = {"body": "x", "cc": ["a", "b"], "note": "n", "sum": 3, "to": "Ada", "who": "Eve"}
    text = asked(
        arguments,
        sources={
            "body": ("tool", "wiki_search", False),
            "cc[0]": ("user", "", True),
            "cc[1]": ("web", "example.com", True),
            "note": ("model", "", False),
            "sum": ("operator", "", True),
            "to": ("directory", "contacts", True),
            "who": ("other_user", "Ada) (you wrote it", True),
        },
    )
    assert text.partition("arguments:\n")[2].partition("\nwhy:")[0].split("\n") == [
        '  "cc": ["a", "b"]  (the user wrote it, from the page example.com)',
        '  "sum": 3  (from my operator\'s files)',
        '  "to": "Ada"  (from the directory contacts)',
        '  "who": "Eve"  (from another person, "Ada) (you wrote it")',
        '  "body": "x"  (from the tool wiki_search)',
        '  "note": "n"  (the model\'s own)',
    ]


def test_question_about_several_calls_tells_alike_ones_together() -> None:
    """What they share is told once, with what they differ in for each."""
    page = ("web", "example.com", True)
    calls = [
        call_of(1, "mail", {"to": ("user", "", True)}, to="a@x", body="Hi"),
        call_of(2, "pay", sum=3),
        call_of(3, "mail", {"to": page}, to="b@x", body="Hi"),
    ]
    assert format_question(calls, SCENE).split("\n") == [
        "I need my operator's approval for these 3 calls:",
        "```",
        'agent: "work"',
        'chat: "telegram:7"',
        "calls:",
        '1, 3. 2 calls of "mail" (built in), differing in: "to"',
        '  "body": "Hi"',
        '  1: "to": "a@x"  (you wrote it)',
        '  3: "to": "b@x"  (from the page example.com)',
        '2. "pay" (built in)',
        '  "sum": 3',
        "why: policy",
        'also planned, and needs no approval: "get_time"',
        "until: 2026-02-02 02:40 UTC",
        "```",
        "Always: /approve c0de x",
        "/approve c0de or /deny c0de, or on my machine:",
        "orchestrator approvals grant c0de",
        "orchestrator approvals deny c0de",
    ]


def test_question_about_many_long_calls_fits_one_message() -> None:
    """It says how much is missing; marks are not cut away, and no value forges a line."""
    source = {"to": ("web", "x" * 500, True)}
    calls = [call_of(n, f"tool{n}", source, to=FORGED * 50, text="y" * 900) for n in range(1, 21)]
    calls = [
        call._replace(written=ToolCall(id="c", name="t", arguments={"z" * 200: "w" * 300}))
        for call in calls
    ]
    text = format_question(calls, SCENE._replace(free=["name" * 10] * 9 + ["other"] * 9))
    assert formatting.count_utf16_units(text) <= formatting.LIMIT
    assert "more lines\nCUT: " in text
    lines = [line for line in text.split("\n") if line.startswith('  "to"')]
    assert lines
    assert all(line.endswith("…)") for line in lines)
    assert text.count("\n```\n") == 2
