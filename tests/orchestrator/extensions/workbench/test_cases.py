"""Saved turns as files: what they hold, and what keeps a set from leaving its machine."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.extensions.workbench.case_rows import COLUMNS, CaseTables
from orchestrator.extensions.workbench.cases import (
    CaseError,
    TurnCase,
    list_secrets,
    load_cases,
    store_digests,
    write_cases,
)
from orchestrator.extensions.workbench.dry_replay import DryRequest, DryTurn

KEY = "sk-" + "a1" * 12


def case(turn: str = "t1", **rows: Any) -> TurnCase:
    """A case with these rows, one a table."""
    empty: CaseTables = {table: [] for table in COLUMNS}
    tables = {**empty, **{table: [row] for table, row in rows.items()}}
    return TurnCase(
        set_name="daily", turn=turn, agent_id="work", checks="same calls", tables=tables
    )


@pytest.mark.parametrize(
    ("table", "row", "found"),
    [
        ("inbox", {"text": "my password is hunter2!"}, "inbox text: a password or secret"),
        ("step", {"args": f'{{"key": "{KEY}"}}'}, "step args: an API key or token"),
        ("message", {"body": '{"content": "4111 1111 1111 1111"}'}, "message body: a card number"),
        ("prompt_part", {"body": f'["{KEY}"]'}, "prompt_part body: an API key or token"),
    ],
)
def test_secret_is_named_with_its_place(table: str, row: dict[str, str], found: str) -> None:
    """By what people wrote around it, or by its form."""
    rows: dict[str, Any] = {table: row}
    assert list_secrets([case(**rows)]) == [f"turn t1, {found}"]


def test_words_of_tools_and_names_of_fields_are_no_secrets() -> None:
    """A tool that asks for a password, and tokens that are counted."""
    spec = {"body": '[{"description": "password: of the user"}]'}
    usage = {"usage": '{"prompt_tokens": 12}', "result": '{"content": "Done."}'}
    assert list_secrets([case(prompt_part=spec, step=usage)]) == []


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A new export replaces the files of the one before."""
    folder = tmp_path / "cases"
    write_cases(folder, [case("gone")])
    written = [case("t1", inbox={"text": "hé", "id": 3}), case("t/2")]
    write_cases(folder, written)
    assert sorted(load_cases(folder), key=lambda one: one.turn) == sorted(
        written, key=lambda one: one.turn
    )


def test_folder_without_usable_cases_is_refused(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(CaseError, match="write some with: orchestrator sets export"):
        load_cases(tmp_path)
    (tmp_path / "x.case.json").write_text("{}")
    with pytest.raises(CaseError, match="is no case; export the set again"):
        load_cases(tmp_path)
    write_cases(tmp_path, [case().model_copy(update={"format": 9})])
    with pytest.raises(CaseError, match="another version"):
        load_cases(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CaseError, match="cannot be written"):
        write_cases(tmp_path / "file" / "below", [])


def test_case_has_the_digests_of_the_requests_that_its_rows_make() -> None:
    """Each response in its order; a turn of which not all were made is no case."""
    asked = {"kind": "model", "timing": '{"attempts":[{"digest":"old"},{"digest":"older"}]}'}
    request = DryRequest(model="m", size=1, digest="new", exact=False)
    (step,) = store_digests(case(step=asked), DryTurn("t1", (request,))).tables["step"]
    assert step["timing"] == '{"attempts":[{"digest":"old"},{"digest":"new"}]}'
    with pytest.raises(CaseError, match="has 1 requests, of which 0 came"):
        store_digests(case(step=asked), DryTurn("t1"))
