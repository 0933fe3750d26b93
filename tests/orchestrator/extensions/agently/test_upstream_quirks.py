"""The cases in which our rules differ from Agently 4.0.7."""

from vector_runner import slots
from vector_runner.cases import VECTORS, load

OUTPUT_MODEL = {
    "bare_types_optional",
    "dict_generic",
    "enum_tuple",
    "flat_scalars",
    "list_of_dicts",
    "nested_dict",
    "optional_generic",
    "pydantic_in_list",
    "type_int_output",
    "upstream_golden_list_cast",
}
REQUIREMENT = {
    "pydantic_model_in_tuple",
    "root_list_dict",
    "root_list_tuple",
    "root_pydantic_model",
}
QUIRKS = {
    *(("output_model", name) for name in OUTPUT_MODEL),
    *(("output_requirement", name) for name in REQUIREMENT),
    ("serialise", "root_list"),
    ("serialise", "tuples"),
}


def test_our_rules_differ_only_in_the_listed_cases() -> None:
    """Every other case has the same answer with and without ``compat``."""
    cases = [case for case in load(VECTORS / "output_slots.json") if case.area in slots.AREAS]
    differing = {
        (case.area, case.name) for case in cases if slots.run(case.given, None) != case.expected
    }
    assert differing == QUIRKS
