-- What the page shows; NULL in rows from before: "not recorded".
ALTER TABLE step ADD COLUMN timing TEXT;  -- thinker.protocol.call_timing.CallTiming of a response
ALTER TABLE turn ADD COLUMN ready_at INTEGER;  -- the worker took it
ALTER TABLE model_call ADD COLUMN seq INTEGER;  -- of the response, in `step`
ALTER TABLE model_call ADD COLUMN purpose TEXT;  -- turn, compaction, facts, embedding
ALTER TABLE turn_prompt ADD COLUMN history_first INTEGER;  -- messages of the window that was sent
ALTER TABLE turn_prompt ADD COLUMN history_last INTEGER;
ALTER TABLE approval ADD COLUMN note TEXT;  -- why it was denied

-- Who may use the page; `agents` is a JSON array, and NULL stands for all of them.
CREATE TABLE web_session(
  digest TEXT PRIMARY KEY, user TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  made_at INTEGER NOT NULL, last_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, label TEXT) STRICT;
CREATE TABLE web_invite(
  digest TEXT PRIMARY KEY, user TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  ends_at INTEGER NOT NULL, used_at INTEGER) STRICT;
