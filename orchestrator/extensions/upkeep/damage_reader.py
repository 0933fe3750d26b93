"""Look for damaged pages in a journal's file."""

from pathlib import Path

import apsw

TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


class DamageReader:
    """A read-only connection that looks for damaged pages, on any thread."""

    def __init__(self, path: Path) -> None:
        self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    def list_tables(self) -> list[str]:
        return [str(name) for (name,) in self._db.execute(TABLES).fetchall()]

    def find_damage(self, table: str) -> str | None:
        """Return the first damage of a table, or None; also None after `interrupt`."""
        try:
            found = str(self._db.execute(f"PRAGMA quick_check('{table}')").get)
        except apsw.InterruptError:
            return None
        except apsw.Error as error:  # it cannot even be read
            return str(error)
        return None if found == "ok" else found

    def interrupt(self) -> None:
        """Interrupt a check on another thread."""
        self._db.interrupt()

    def close(self) -> None:
        self._db.close()
