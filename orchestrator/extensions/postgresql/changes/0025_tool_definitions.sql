-- As for SQLite.

ALTER TABLE tool_pin ADD COLUMN definition string;
