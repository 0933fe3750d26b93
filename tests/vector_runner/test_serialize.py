"""Slots are written as YAML and JSON."""

from typing import Literal

from vector_runner.serialize import to_data, to_json, to_yaml

from thinker.formats.prompts.grammar import parse_output_schema
from thinker.prompt.render.output_contract import output_model
from thinker.prompt.render.requirement import format_requirement


def test_files_hold_types_as_text() -> None:
    """A schema written to a file is read back unchanged."""
    schema: dict[str, object] = {
        "a": (str, "d"),
        "b": ([(int, "n")], "many"),
        "c": (dict[str, int], "counts", {}),
        "d": list[str] | None,
        "e": (Literal["x", "y"], "pick"),
        "f": {"g": (bool,)},
    }
    data = to_data({"input": "x", "output": schema})
    assert to_yaml(data).startswith("input: x\noutput:\n  a:\n    $type: str\n    $desc: d\n")
    assert '"$type": "Literal[x, y]"' in to_json(data)
    again = format_requirement(parse_output_schema(data["output"]))
    assert again == format_requirement(parse_output_schema(schema))
    answer = {"a": "x", "b": [1], "d": None, "e": "y", "f": {"g": True}}
    assert output_model(data["output"]).model_validate(answer).model_dump()["c"] == {}
