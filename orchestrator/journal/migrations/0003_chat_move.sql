CREATE TABLE chat_move(  -- groups that became supergroups; every other row has the first id
  channel TEXT NOT NULL, old_id TEXT NOT NULL, new_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(channel, new_id)) STRICT, WITHOUT ROWID;
