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
CREATE INDEX message_vector_model ON message_vector(agent_id, model, dimensions, message_id);

-- Facts by slot, and the messages that say them ---------------------------------------------------

CREATE INDEX fact_slot ON fact(agent_id, slot, subject) WHERE slot <> '';
CREATE INDEX fact_unsaid ON fact(source) WHERE said_in IS NULL;
CREATE TRIGGER fact_said AFTER INSERT ON message
  WHEN EXISTS(SELECT 1 FROM fact WHERE said_in IS NULL AND source = 'turn ' || new.turn_id) BEGIN
  UPDATE fact SET said_in = new.id WHERE said_in IS NULL AND source = 'turn ' || new.turn_id;
END;
