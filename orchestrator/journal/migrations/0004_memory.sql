-- The profile's history, playbooks, and an index of what was said (seed 002, annabelle.md §6, §8).

CREATE INDEX fact_category ON fact(agent_id, category, id);

CREATE TABLE profile_change(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, path TEXT NOT NULL,
  before TEXT, after TEXT,  -- JSON; NULL: there was, or is, nothing
  source TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX profile_changes ON profile_change(agent_id, id);

CREATE TABLE playbook(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
  instructions TEXT NOT NULL, keywords TEXT NOT NULL, priority REAL NOT NULL,
  required_tools TEXT NOT NULL,  -- as keywords, a JSON array
  enabled INTEGER NOT NULL DEFAULT 1, source TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE(agent_id, name)) STRICT;
CREATE TABLE playbook_seed(  -- what an agent was given once: deleted, it is not given again
  agent_id TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(agent_id, name)) STRICT, WITHOUT ROWID;

-- What people and agents said, not what tools answered. Only text with letters that are not
-- ASCII goes into the second index: it is for scripts without spaces and three times as large.
-- CASE, because a failing json_extract would keep the turn from ending.
CREATE VIRTUAL TABLE message_words USING fts5(
  text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE message_grams USING fts5(
  text, content='', contentless_delete=1, tokenize='trigram');
CREATE VIEW said AS SELECT id, session_id, at, role, text FROM (
  SELECT id, session_id, at,
    CASE WHEN json_valid(body) THEN body ->> 'role' END AS role,
    CASE WHEN json_valid(body) THEN body ->> 'content' END AS text FROM message)
  WHERE role IN('user','assistant') AND text <> '';
INSERT INTO message_words(rowid, text) SELECT id, text FROM said;
INSERT INTO message_grams(rowid, text) SELECT id, text FROM said
  WHERE octet_length(text) <> length(text);
CREATE TRIGGER message_said AFTER INSERT ON message BEGIN
  INSERT INTO message_words(rowid, text) SELECT id, text FROM said WHERE id = new.id;
  INSERT INTO message_grams(rowid, text) SELECT id, text FROM said
    WHERE id = new.id AND octet_length(text) <> length(text);
END;
CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
  DELETE FROM message_words WHERE rowid = old.id;
  DELETE FROM message_grams WHERE rowid = old.id;
END;
