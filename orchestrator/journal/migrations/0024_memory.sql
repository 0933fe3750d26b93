-- Statements with a time and a source -------------------------------------------------------------

ALTER TABLE fact ADD COLUMN said_in INTEGER;
ALTER TABLE fact ADD COLUMN valid_from INTEGER;
ALTER TABLE fact ADD COLUMN valid_to INTEGER;
ALTER TABLE fact ADD COLUMN ended_by TEXT;
ALTER TABLE fact ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN slot TEXT NOT NULL DEFAULT '';
CREATE INDEX fact_ended ON fact(valid_to) WHERE valid_to IS NOT NULL;
DROP INDEX fact_once;
CREATE UNIQUE INDEX fact_once ON fact(agent_id, fact, scope) WHERE valid_to IS NULL;
CREATE TABLE fact_gone(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL, digest TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(agent_id, scope, digest)) STRICT, WITHOUT ROWID;
CREATE TABLE memory_card(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL, facts TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(agent_id, scope)) STRICT, WITHOUT ROWID;

-- Vectors of messages -----------------------------------------------------------------------------

CREATE TABLE message_vector(
  message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
  agent_id TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  signs BLOB NOT NULL, vector BLOB NOT NULL) STRICT;
CREATE INDEX message_vector_model ON message_vector(agent_id, model, message_id);

-- Facts by slot, and the messages that say them ---------------------------------------------------

CREATE INDEX fact_slot ON fact(agent_id, slot, subject) WHERE slot <> '';
CREATE INDEX fact_unsaid ON fact(source) WHERE said_in IS NULL;
CREATE TRIGGER fact_said AFTER INSERT ON message
  WHEN EXISTS(SELECT 1 FROM fact WHERE said_in IS NULL AND source = 'turn ' || new.turn_id) BEGIN
  UPDATE fact SET said_in = new.id WHERE said_in IS NULL AND source = 'turn ' || new.turn_id;
END;

-- The search in earlier conversations ------------------------------------------------------------

CREATE TABLE search_scope(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, scope TEXT NOT NULL) STRICT;
CREATE INDEX search_scope_name ON search_scope(agent_id, scope);
CREATE TABLE message_place(
  message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
  place INTEGER NOT NULL UNIQUE) STRICT;
CREATE VIRTUAL TABLE said_words USING fts5(terms, content='', contentless_delete=1, detail=none,
  tokenize="porter ascii tokenchars '_'");
-- What each slice of messages adds is merged with it, a little at a time.
INSERT INTO said_words(said_words, rank) VALUES('automerge', 0);
CREATE TRIGGER place_gone AFTER DELETE ON message_place BEGIN
  DELETE FROM said_words WHERE rowid = old.place;
END;
-- The messages so far are indexed while the daemon runs, from the newest session on: the last
-- message, the session, and the last message that is indexed in it. Until then the earlier index
-- answers, which takes in at most 63 messages here, and none later.
INSERT INTO meta SELECT 'search_filling', ifnull((SELECT max(id) FROM message), 0) || ' ' ||
  ifnull((SELECT max(id) FROM session), 0) || ' 0';
INSERT INTO meta VALUES('earlier_index', 'message_words');
DROP TRIGGER message_said;
INSERT INTO message_grams(rowid, text) SELECT id, text FROM said
  WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize)
  AND octet_length(text) <> length(text);
INSERT INTO message_words(rowid, text) SELECT id, text FROM said
  WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize);
CREATE INDEX session_agent ON session(agent_id);
