-- The one row says up to which transition a collector of traces has taken what ended; see `row_marks`.
CREATE TABLE sent_spans(
  id INTEGER PRIMARY KEY CHECK(id = 1), transition_id INTEGER NOT NULL,
  at INTEGER NOT NULL, read_at INTEGER NOT NULL) STRICT;
