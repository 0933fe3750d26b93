"""Rows as records: typed dataclasses with a field for each column, in order."""

from functools import cached_property
from typing import Generic, TypeVar

from pydantic import TypeAdapter
from pydantic_core import ArgsKwargs

from orchestrator.journal.db.database import Database

T = TypeVar("T")


class Rows(Generic[T]):
    """The rows of a table or join as records of one dataclass, with values of the fields' types.

    SQLite's 0 and 1 become booleans, and the text of a `pydantic.Json` field becomes its value.
    """

    def __init__(self, record: type[T], source: str, columns: str = "") -> None:
        self._record = record
        self._query = f"SELECT {columns or ', '.join(record.__annotations__)} FROM {source} WHERE "

    @cached_property
    def _types(self) -> TypeAdapter[T]:  # made at the first query, as it takes a millisecond
        return TypeAdapter(self._record)

    def select(self, db: Database, where: str, *values: object) -> list[T]:
        """Return the rows that match; ``where`` may go on with ORDER BY and LIMIT."""
        rows = db.execute(self._query + where, values)
        return [self._types.validate_python(ArgsKwargs(row)) for row in rows]

    def first(self, db: Database, where: str, *values: object) -> T | None:
        return next(iter(self.select(db, where, *values)), None)
