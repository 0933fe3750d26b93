-- A person's word for one call: bound to tool, arguments and turn, used once (invariant 18).

CREATE TABLE approval(
  id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE,
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, args_hash TEXT NOT NULL, reason TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('pending','granted','denied','used')),
  asked_at INTEGER NOT NULL, expires INTEGER NOT NULL, decided_at INTEGER, by_user TEXT,
  UNIQUE(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT;
CREATE INDEX approval_open ON approval(state) WHERE state IN('pending','granted');
