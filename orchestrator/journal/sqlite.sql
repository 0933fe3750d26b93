-- What the journal has in SQLite besides the tables and indexes of schema.sql.

-- Searching ---------------------------------------------------------------------------------------

-- The texts of people and agents, without tool results. CASE, because a json_extract that fails
-- would keep the turn from ending.
CREATE VIEW said AS SELECT id, session_id, at, role, text FROM (
  SELECT id, session_id, at,
    CASE WHEN json_valid(body) THEN body ->> 'role' END AS role,
    CASE WHEN json_valid(body) THEN body ->> 'content' END AS text FROM message)
  WHERE role IN('user','assistant') AND text <> '';
-- The place of each message that searches find: bits 11 and higher number its sitting (an unbroken
-- part of a session), six bits its position in that, and five bits are the class of its length.
CREATE TABLE message_place(
  message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
  place INTEGER NOT NULL UNIQUE) STRICT;
-- By places. The extension `memory` splits texts into terms; those with _ are what a message is
-- about: its chat, agent, month and sender.
CREATE VIRTUAL TABLE said_words USING fts5(terms, content='', contentless_delete=1, detail=none,
  tokenize="porter ascii tokenchars '_'");
-- What each slice of messages adds is merged with it, a little at a time.
INSERT INTO said_words(said_words, rank) VALUES('automerge', 0);
CREATE TRIGGER place_gone AFTER DELETE ON message_place BEGIN
  DELETE FROM said_words WHERE rowid = old.place;
END;

CREATE UNIQUE INDEX fact_once ON fact(agent_id, fact, scope) WHERE valid_to IS NULL;
CREATE VIRTUAL TABLE fact_words USING fts5(
  fact, content='fact', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE fact_grams USING fts5(
  fact, content='fact', content_rowid='id', tokenize='trigram');
CREATE TRIGGER fact_added AFTER INSERT ON fact BEGIN
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
CREATE TRIGGER fact_removed AFTER DELETE ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
END;
CREATE TRIGGER fact_changed AFTER UPDATE OF fact ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
-- The message that a tool's fact comes from is stored later than the fact, when the turn ends.
CREATE TRIGGER fact_said AFTER INSERT ON message
  WHEN EXISTS(SELECT 1 FROM fact WHERE said_in IS NULL AND source = 'turn ' || new.turn_id) BEGIN
  UPDATE fact SET said_in = new.id WHERE said_in IS NULL AND source = 'turn ' || new.turn_id;
END;
CREATE TRIGGER fact_means_another AFTER UPDATE OF fact ON fact WHEN old.fact IS NOT new.fact BEGIN
  DELETE FROM fact_vector WHERE fact_id = old.id;
END;

-- Every change of state is recorded ---------------------------------------------------------------

CREATE TRIGGER inbox_came AFTER INSERT ON inbox BEGIN
  INSERT INTO transition(at, kind, number, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'inbox', new.id, new.state, new.error);
END;
CREATE TRIGGER inbox_moved AFTER UPDATE OF state, claims ON inbox
  WHEN old.state IS NOT new.state OR new.claims > old.claims BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'inbox', new.id, new.turn_id, new.state,
      CASE WHEN new.claims > old.claims THEN format('process death %d', new.claims)
        ELSE new.error END);
END;
CREATE TRIGGER turn_began AFTER INSERT ON turn BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'turn', 0, new.id, new.state,
      format('epoch %d', new.epoch));
END;
CREATE TRIGGER turn_moved AFTER UPDATE OF state, epoch ON turn
  WHEN old.state IS NOT new.state OR old.epoch IS NOT new.epoch BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'turn', 0, new.id, new.state,
      CASE WHEN old.epoch IS NOT new.epoch THEN format('adopted in epoch %d', new.epoch)
        ELSE new.error END);
END;
CREATE TRIGGER step_came AFTER INSERT ON step BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'step', new.seq, new.turn_id, new.state);
END;
-- On any change, also one that keeps the state: a step that has ended must not change.
CREATE TRIGGER step_moved AFTER UPDATE ON step BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'step', new.seq, new.turn_id, new.state);
END;
CREATE TRIGGER outbox_came AFTER INSERT ON outbox BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'outbox', new.id, new.turn_id, new.state);
END;
CREATE TRIGGER outbox_moved AFTER UPDATE OF state, attempt ON outbox
  WHEN old.state IS NOT new.state OR old.attempt IS NOT new.attempt BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'outbox', new.id, new.turn_id, new.state,
      CASE WHEN old.attempt IS NOT new.attempt THEN format('attempt %d', new.attempt)
        ELSE new.error END);
END;

-- `playbook_state` has a new value after every change of an agent's playbooks ---------------------

CREATE TRIGGER playbook_added AFTER INSERT ON playbook BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, new.scope, randomblob(16));
END;
CREATE TRIGGER playbook_changed AFTER UPDATE ON playbook BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, new.scope, randomblob(16));
END;
CREATE TRIGGER playbook_removed AFTER DELETE ON playbook BEGIN
  DELETE FROM playbook_state WHERE agent_id = old.agent_id AND scope = old.scope;
  INSERT INTO playbook_state SELECT old.agent_id, old.scope, randomblob(16)
    WHERE EXISTS(SELECT 1 FROM playbook WHERE agent_id = old.agent_id AND scope = old.scope)
    OR old.scope = '' AND EXISTS(SELECT 1 FROM playbook_seed WHERE agent_id = old.agent_id);
END;
CREATE TRIGGER playbook_given AFTER INSERT ON playbook_seed BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, '', randomblob(16));
END;
CREATE TRIGGER playbook_forgotten AFTER DELETE ON playbook_seed BEGIN
  DELETE FROM playbook_state WHERE agent_id = old.agent_id;
END;
