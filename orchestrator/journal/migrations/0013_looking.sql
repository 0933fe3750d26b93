-- What a person found out about a call that may or may not have happened.
CREATE TABLE call_verdict(
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, happened INTEGER NOT NULL,
  by_user TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT, WITHOUT ROWID;

-- What waits for a person is counted for each screen.
CREATE INDEX inbox_dead ON inbox(id) WHERE state = 'dead';
