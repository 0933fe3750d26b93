-- Every state that a message, turn, step or outbox row was ever in, for `orchestrator trace`.
-- Triggers write it, so that no change of state can be forgotten, and the time is SQLite's, so
-- that none can be misdated by its caller.

CREATE TABLE transition(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL,  -- milliseconds since the epoch
  kind TEXT NOT NULL CHECK(kind IN('inbox','turn','step','outbox')),
  number INTEGER NOT NULL,  -- inbox.id, outbox.id or step.seq; 0 for a turn
  turn_id TEXT, state TEXT NOT NULL, note TEXT) STRICT;
CREATE INDEX transition_turn ON transition(turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX transition_inbox ON transition(number) WHERE kind = 'inbox';

INSERT INTO transition(at, kind, number, turn_id, state, note)  -- what is known of older rows
  SELECT received_at AS at, 'inbox', id, NULL, 'new', NULL FROM inbox
    WHERE state <> 'cancelled' OR turn_id IS NOT NULL
  UNION ALL SELECT started_at, 'inbox', inbox.id, turn_id, 'claimed', NULL
    FROM inbox JOIN turn ON turn.id = turn_id
  UNION ALL SELECT ended_at, 'inbox', id, turn_id, state, error FROM inbox
    WHERE ended_at IS NOT NULL
  UNION ALL SELECT started_at, 'turn', 0, id, 'running', NULL FROM turn
  UNION ALL SELECT ended_at, 'turn', 0, id, state, error FROM turn
    WHERE ended_at IS NOT NULL
  UNION ALL SELECT t_plan, 'step', seq, turn_id, 'planned', NULL FROM step WHERE kind = 'tool'
  UNION ALL SELECT t_intent, 'step', seq, turn_id, 'intent', NULL FROM step
    WHERE t_intent IS NOT NULL
  UNION ALL SELECT t_end, 'step', seq, turn_id, state, NULL FROM step WHERE t_end IS NOT NULL
  UNION ALL SELECT created_at, 'outbox', id, turn_id, 'queued', NULL FROM outbox
  UNION ALL SELECT t_sending, 'outbox', id, turn_id, 'sending', NULL FROM outbox
    WHERE t_sending IS NOT NULL
  UNION ALL SELECT ended_at, 'outbox', id, turn_id, state, error FROM outbox
    WHERE ended_at IS NOT NULL
  ORDER BY 1, 2, 3;

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
CREATE TRIGGER step_moved AFTER UPDATE ON step BEGIN  -- whatever changed: an end is the end
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
