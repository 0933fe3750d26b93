-- What is needed to send a recorded prompt again --------------------------------------------------

ALTER TABLE turn_prompt ADD COLUMN agent_id TEXT;
ALTER TABLE turn_prompt ADD COLUMN settings TEXT REFERENCES prompt_part;
CREATE INDEX prompt_settings ON turn_prompt(settings) WHERE settings IS NOT NULL;

-- Trials of turns, and turns that are kept as tests -----------------------------------------------

CREATE TABLE trial(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN('replay','test','switch')),
  agent_id TEXT NOT NULL, change TEXT NOT NULL, by_user TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('running','done','stopped')), note TEXT NOT NULL DEFAULT '',
  limit_tokens INTEGER, limit_usd REAL, made_at INTEGER NOT NULL, ended_at INTEGER) STRICT;
CREATE INDEX trial_made ON trial(made_at);
CREATE TABLE trial_turn(
  trial_id INTEGER NOT NULL REFERENCES trial, turn_id TEXT NOT NULL, nth INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN('waiting','done')), fidelity TEXT, result TEXT,
  prompt INTEGER NOT NULL DEFAULT 0, completion INTEGER NOT NULL DEFAULT 0,
  cached INTEGER NOT NULL DEFAULT 0, usd REAL, ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(trial_id, turn_id, nth)) STRICT, WITHOUT ROWID;
CREATE INDEX trial_turn_turn ON trial_turn(turn_id);
CREATE TABLE saved_turn(
  set_name TEXT NOT NULL, turn_id TEXT NOT NULL REFERENCES turn, checks TEXT NOT NULL,
  by_user TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(set_name, turn_id)) STRICT, WITHOUT ROWID;
CREATE INDEX saved_turn_turn ON saved_turn(turn_id);

-- Conversations that go on from an earlier point --------------------------------------------------

ALTER TABLE session ADD COLUMN parent_id INTEGER REFERENCES session;
ALTER TABLE session ADD COLUMN parent_upto INTEGER;
CREATE INDEX session_parent ON session(parent_id) WHERE parent_id IS NOT NULL;
ALTER TABLE step ADD COLUMN answered_by TEXT;
CREATE INDEX step_answered ON step(answered_by) WHERE answered_by IS NOT NULL;

-- Buttons that send a command ---------------------------------------------------------------------

ALTER TABLE outbox ADD COLUMN choices TEXT;
CREATE INDEX outbox_choices ON outbox(choices) WHERE choices IS NOT NULL;
