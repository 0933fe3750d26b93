"""Tools that are made of functions, as a stranger writes them."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from orchestrator.tools.builtin.host_tool import ExtensionTool
from orchestrator.tools.extension_tool import Caller, ToolFailure, define_tool
from thinker.protocol.messages import JsonObject, SideEffect

CALLER = Caller(agent_id="work", channel="telegram", chat_id="7", timezone="UTC", key="t1:2")


class Item(BaseModel):
    """One thing of an order."""

    name: str
    count: int = 1


@define_tool(side_effect="pure", private=False, keywords="train, railway")
async def find_train(
    caller: Caller,
    place: Annotated[str, Field(description="A station.")],
    seat: Literal["window", "aisle"] = "window",
) -> str:
    """Find the next train with a free seat."""
    if place == "Atlantis":
        raise ToolFailure("there is no station 'Atlantis'; take one on land")
    return f"{caller.agent_id} to {place} at the {seat} ({caller.key})"


@define_tool()
def order(items: list[Item], schema: str = "", notes: list[str] = []) -> dict[str, Any]:  # noqa: B006 - as authors write
    """Order things."""
    notes.append(schema)
    return {"things": [item.name for item in items], "notes": notes}


def run(tool: ExtensionTool, **arguments: Any) -> str:
    """What a call returns."""
    given: JsonObject = arguments
    return tool.function(CALLER, given)


def test_function_says_all_that_models_read() -> None:
    """Name, docstring, types, defaults and descriptions; the caller is not the model's."""
    assert find_train.spec.model_dump(exclude_defaults=True) == {
        "name": "find_train",
        "description": "Find the next train with a free seat.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "A station."},
                "seat": {"type": "string", "enum": ["window", "aisle"], "default": "window"},
            },
            "required": ["place"],
            "additionalProperties": False,
        },
        "side_effect": SideEffect.PURE,
        "keywords": ("train", "railway"),
    }


def test_tool_of_which_nothing_is_said_is_taken_for_the_worst() -> None:
    """It acts, it may carry data out, and its results are private and not to be trusted."""
    assert order.spec.side_effect is SideEffect.NON_IDEMPOTENT
    assert (order.private, order.carries, order.origin) == (True, True, "tool")
    assert not find_train.private


def test_call_gets_checked_values_and_knows_its_caller() -> None:
    """An asynchronous function runs in a loop of its own."""
    assert run(find_train, place="Rome") == "work to Rome at the window (t1:2)"
    assert run(find_train, place="Rome", seat="aisle") == "work to Rome at the aisle (t1:2)"


def test_results_and_arguments_may_have_any_structure() -> None:
    """Models of pydantic, names that pydantic uses itself, and defaults that each call has anew."""
    for _ in range(2):
        told = run(order, items=[{"name": "tea"}], schema="s")
        assert told == '{"things":["tea"],"notes":["s"]}'


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "place: "),
        ({"place": "Rome", "seat": "roof"}, "seat: Input should be 'window' or 'aisle'"),
        ({"place": "Rome", "colour": "red"}, "colour: "),
        ({"place": "Atlantis"}, "take one on land"),
    ],
)
def test_failure_is_told_with_what_would_work(arguments: JsonObject, problem: str) -> None:
    """Whether the arguments do not fit or the function says so."""
    with pytest.raises(ToolFailure, match=problem):
        find_train.function(CALLER, arguments)


def _without_docstring(place: str) -> str:
    return place


def _without_types(place) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Do something."""
    return str(place)


def _without_names(*places: str) -> str:
    """Do something."""
    return str(places)


def _without_schema(place: Callable[[], str]) -> str:
    """Do something."""
    return str(place)


def _with_unknown_type(place: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
    """Do something."""
    return str(place)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_without_docstring, "has no docstring; say what it does, for the model"),
        (
            _without_types,
            "the parameter 'place' of the tool '_without_types' has no type annotation; add one",
        ),
        (_without_names, "are not supported; name each parameter"),
        (_without_schema, "the parameters of the tool '_without_schema' cannot be used: "),
        (_with_unknown_type, "cannot be used: name 'Nowhere' is not defined"),
        (len, "the parameters of the tool 'len' cannot be used"),
        (lambda place: place, "must be 1 to 64 characters from"),
    ],
)
def test_function_that_cannot_be_a_tool_is_refused_where_it_is_written(
    function: Any, problem: str
) -> None:
    """With the tool's name and what to do."""
    with pytest.raises(TypeError, match=problem):
        define_tool()(function)
