"""Cases: saved turns as files that need no journal, for machines that run tests.

A case has the rows that its requests are built from, with other names for chats and people, and the
digests of the requests that these rows make. So another machine can tell that it builds the same.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson
from pydantic import ValidationError

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.trials import SavedTurn
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.workbench.case_names import CaseNames, list_texts
from orchestrator.extensions.workbench.case_rows import (
    CaseTables,
    Row,
    insert_case_rows,
    read_case_rows,
)
from orchestrator.extensions.workbench.dry_replay import DryTurn
from orchestrator.extensions.workbench.saved_turns import OwnedTest
from orchestrator.files import write_private
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.secret_filter import detect_secret_kind, iter_token_spans

SETS_EXPORT = "sets/export"  # SetExport → Ack, which only notes it in the audit log
FORMAT = 1
# What people and tools have written; in prompts and tools a word such as "token:" means nothing.
WRITTEN = ("inbox", "message", "step", "request", "attachment")
ENDING = ".case.json"


class CaseError(OrchestratorError):
    """Cases cannot be written, or files are no cases."""


class SetExport(CamelModel):
    """A set that was exported: how many turns, and the digest of their cases."""

    set_name: str
    turns: int
    digest: str


class TurnCase(CamelModel):
    """One saved turn; ``tables`` are the rows that it is rebuilt from."""

    format: int = FORMAT
    set_name: str
    turn: str
    agent_id: str
    checks: str
    question: str = ""
    tables: CaseTables

    @property
    def owned_test(self) -> OwnedTest:
        """The turn as a test."""
        saved = SavedTurn(
            set_name=self.set_name, turn=self.turn, checks=self.checks, question=self.question
        )
        return OwnedTest(self.agent_id, saved)


def build_cases(db: Database, tests: Sequence[OwnedTest]) -> list[TurnCase]:
    """Return saved turns as cases; chats and people have the same new names in all of them."""
    names, rows = CaseNames(), [read_case_rows(db, test.saved.turn) for test in tests]
    for tables in rows:
        names.note_rows(tables)
    return [
        TurnCase(
            set_name=test.saved.set_name,
            turn=test.saved.turn,
            agent_id=test.agent_id,
            checks=names.rename_text(test.saved.checks),
            question=names.rename_text(test.saved.question),
            tables=names.rename_rows(tables),
        )
        for test, tables in zip(tests, rows, strict=True)
    ]


def list_secrets(cases: Iterable[TurnCase]) -> list[str]:
    """Return where cases seem to hold secrets, and of what kind."""
    found = dict[str, None]()
    for case in cases:
        for table, rows in case.tables.items():
            for row in rows:
                for column, value in row.items():
                    kind = _find_secret(table, column, value)
                    if kind:
                        found[f"turn {case.turn}, {table} {column}: {kind}"] = None
        if kind := detect_secret_kind(case.checks):
            found[f"turn {case.turn}, its checks: {kind}"] = None
    return list(found)


def _find_secret(table: str, column: str, value: object) -> str | None:
    if not isinstance(value, str) or column in ("data", "digest", "media_id", "args_hash"):
        return None
    texts = [value]
    if value[:1] in ("{", "["):
        try:
            texts = list(list_texts(orjson.loads(value)))
        except orjson.JSONDecodeError:
            texts = [value]
    for text in texts:
        if table in WRITTEN and (kind := detect_secret_kind(text)):
            return kind
        if any(iter_token_spans(text)):
            return "an API key or token"
    return None


def fill_case_journal(db: Database, cases: Iterable[TurnCase]) -> None:
    """Put cases into an empty journal, as sets of saved turns."""
    for case in cases:
        insert_case_rows(db, case.tables)
        db.execute(
            "INSERT INTO saved_turn(set_name, turn_id, checks, by_user, at) VALUES(?,?,?,?,0)"
            " ON CONFLICT DO NOTHING",
            (case.set_name, case.turn, case.checks, "case"),
        )


def store_digests(case: TurnCase, rebuilt: DryTurn) -> TurnCase:
    """Return a case whose responses have the digests of the requests that its rows make."""
    steps = case.tables["step"]
    asked = [row for row in steps if row["kind"] == "model" and row["timing"]]
    digests = [request.digest for request in rebuilt.requests]
    if len(asked) != len(digests):
        raise CaseError(f"turn {case.turn} has {len(asked)} requests, of which {len(digests)} came")
    by_place = dict(zip((id(row) for row in asked), digests, strict=True))
    changed = [_store_digest(row, by_place.get(id(row), "")) for row in steps]
    return case.model_copy(update={"tables": {**case.tables, "step": changed}})


def _store_digest(row: Row, digest: str) -> Row:
    if not digest:
        return row
    timing = orjson.loads(str(row["timing"]))
    for attempt in timing.get("attempts", ())[-1:]:
        attempt["digest"] = digest
    return {**row, "timing": orjson.dumps(timing).decode()}


def write_cases(folder: Path, cases: Sequence[TurnCase]) -> None:
    """Write each case into a file of the folder, in place of the earlier ones.

    Raises:
        CaseError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob(f"*{ENDING}"):
            path.unlink()
        for case in cases:
            name = re.sub(r"[^\w-]", "_", case.turn)
            text = orjson.dumps(case.model_dump(by_alias=True), option=orjson.OPT_INDENT_2)
            write_private(folder / f"{case.set_name}-{name}{ENDING}", text + b"\n")
    except OSError as error:
        raise CaseError(f"{folder} cannot be written: {error.strerror}") from error


def compute_digest(cases: Iterable[TurnCase]) -> str:
    """Return the digest of cases, which tells them from those of another export."""
    text = "\0".join(case.model_dump_json() for case in cases)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def load_cases(folder: Path) -> list[TurnCase]:
    """Return the cases of a folder.

    Raises:
        CaseError: the folder has no cases, or another version wrote them.
    """
    cases = []
    for path in sorted(folder.glob(f"*{ENDING}")):
        try:
            case = TurnCase.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise CaseError(f"{path} is no case; export the set again") from error
        if case.format != FORMAT:
            raise CaseError(f"{path} was written by another version; export the set again")
        cases.append(case)
    if not cases:
        raise CaseError(f"{folder} has no cases; write some with: orchestrator sets export SET DIR")
    return cases


def record_export(db: Database, exported: SetExport, now: int, by: str = "operator") -> None:
    """Note an export in the audit log: nothing that is forgotten later leaves those files."""
    subject = f"set {exported.set_name}, {exported.turns} turns, cases {exported.digest}"
    audit.record_decision(db, by, "exported a set", subject, now)
