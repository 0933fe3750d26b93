"""Statements as PostgreSQL takes them."""

import pytest

from orchestrator.extensions.postgresql.statements import translate_statement


@pytest.mark.parametrize(
    ("statement", "values", "text", "bound"),
    [
        ("SELECT ?, ?", (1, 2), "SELECT $1, $2", (1, 2)),
        ("SELECT ?2, ?1, ?2", (1, 2), "SELECT $1, $2, $3", (2, 1, 2)),
        ("SELECT ?3, ?", (1, 2, 3, 4), "SELECT $1, $2", (3, 4)),
        ("SELECT :a, :b, :a", {"a": 1, "b": 2, "c": 3}, "SELECT $1, $2, $3", (1, 2, 1)),
        ("SELECT '?', \"?\", ':a', x::text -- ?", (), "SELECT '?', \"?\", ':a', x::text -- ?", ()),
        ("SELECT 'it''s ?', ?", (1,), "SELECT 'it''s ?', $1", (1,)),
        ("SELECT 1 FROM t INDEXED BY i WHERE a = ?", (1,), "SELECT 1 FROM t  WHERE a = $1", (1,)),
    ],
)
def test_values_have_numbers_in_the_order_of_their_use(
    statement: str, values: tuple[int, ...] | dict[str, int], text: str, bound: tuple[int, ...]
) -> None:
    """What stands in quotes, comments and casts is left as it is, and so is no advice."""
    translated = translate_statement(statement)
    assert (translated.text, translated.bind_values(values)) == (text, bound)


@pytest.mark.parametrize(("statement", "values"), [("SELECT ?, ?", (1,)), ("SELECT :a", {"b": 1})])
def test_missing_value_is_an_error(statement: str, values: tuple[int, ...]) -> None:
    """It would be sent as something else otherwise."""
    with pytest.raises((IndexError, KeyError)):
        translate_statement(statement).bind_values(values)
