-- As for SQLite, with an index of hashes: one takes texts of 2,700 bytes at most.
-- Statements with a time and a source -------------------------------------------------------------

ALTER TABLE fact ADD COLUMN said_in bigint;
ALTER TABLE fact ADD COLUMN valid_from bigint;
ALTER TABLE fact ADD COLUMN valid_to bigint;
ALTER TABLE fact ADD COLUMN ended_by string;
ALTER TABLE fact ADD COLUMN subject string NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN slot string NOT NULL DEFAULT '';
CREATE INDEX fact_ended ON fact(valid_to) WHERE valid_to IS NOT NULL;
DROP INDEX fact_once;
CREATE UNIQUE INDEX fact_once ON fact(agent_id, md5(fact), scope) WHERE valid_to IS NULL;
CREATE TABLE fact_gone(
  agent_id string NOT NULL, scope string NOT NULL, digest string NOT NULL, at bigint NOT NULL,
  PRIMARY KEY(agent_id, scope, digest));
CREATE TABLE memory_card(
  agent_id string NOT NULL, scope string NOT NULL, facts string NOT NULL, at bigint NOT NULL,
  PRIMARY KEY(agent_id, scope));

-- Vectors of messages -----------------------------------------------------------------------------

CREATE TABLE message_vector(
  message_id bigint PRIMARY KEY REFERENCES message ON DELETE CASCADE,
  agent_id string NOT NULL, model string NOT NULL, dimensions bigint NOT NULL,
  signs bytea NOT NULL, vector bytea NOT NULL);
CREATE INDEX message_vector_model ON message_vector(agent_id, model, dimensions, message_id);

-- Facts by slot, and the messages that say them ---------------------------------------------------

CREATE INDEX fact_slot ON fact(agent_id, slot, subject) WHERE slot <> '';
CREATE INDEX fact_unsaid ON fact(source) WHERE said_in IS NULL;
CREATE FUNCTION fact_said() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE fact SET said_in = new.id WHERE said_in IS NULL AND source = 'turn ' || new.turn_id;
  RETURN NULL;
END $$;
CREATE TRIGGER fact_said AFTER INSERT ON message FOR EACH ROW EXECUTE FUNCTION fact_said();
