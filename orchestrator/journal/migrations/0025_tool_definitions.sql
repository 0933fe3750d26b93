-- Tools as they were approved, to show beside what has become of them ------------------------------

ALTER TABLE tool_pin ADD COLUMN definition TEXT;
