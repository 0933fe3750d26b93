"""Schema changes that PostgreSQL needs in its own form, numbered like SQLite's."""
