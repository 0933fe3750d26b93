-- A pause may also begin because a provider refuses the agent's key or has no credit for it.

CREATE TABLE pause_2(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('operator','anomaly','budget','account')),
  reason TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER,
  mark INTEGER) STRICT;  -- the last model_call before its end: the detector counts those after it
INSERT INTO pause_2 SELECT id, agent_id, kind, reason, at, ended_at, mark FROM pause;
CREATE TABLE pause_told_2(  -- chats that know of it
  pause_id INTEGER NOT NULL REFERENCES pause_2, chat_key TEXT NOT NULL,
  PRIMARY KEY(pause_id, chat_key)) STRICT, WITHOUT ROWID;
INSERT INTO pause_told_2 SELECT pause_id, chat_key FROM pause_told;
DROP TABLE pause_told;
DROP TABLE pause;
ALTER TABLE pause_2 RENAME TO pause;
ALTER TABLE pause_told_2 RENAME TO pause_told;
CREATE UNIQUE INDEX one_pause ON pause(agent_id) WHERE ended_at IS NULL;
