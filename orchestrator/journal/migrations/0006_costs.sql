-- Model calls with what they cost, reserved before and settled after each; agents that are paused.

CREATE TABLE model_call(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, turn_id TEXT, model TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('reserved','settled','lost')),
  prompt INTEGER NOT NULL, completion INTEGER NOT NULL, cached INTEGER NOT NULL,
  usd REAL,  -- NULL: the model has no price
  at INTEGER NOT NULL) STRICT;
CREATE INDEX model_call_window ON model_call(agent_id, at, prompt, completion, usd);
CREATE INDEX model_call_turn ON model_call(turn_id, state);

INSERT INTO model_call(agent_id, turn_id, model, state, prompt, completion, cached, at)
  SELECT agent_id, turn_id, name, 'settled',
    coalesce(usage ->> 'prompt', 0), coalesce(usage ->> 'completion', 0),
    coalesce(usage ->> 'cached', 0), t_plan
  FROM step JOIN turn ON turn.id = turn_id WHERE kind = 'model' ORDER BY t_plan, seq;

CREATE TABLE pause(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('operator','anomaly','budget')), reason TEXT NOT NULL,
  at INTEGER NOT NULL, ended_at INTEGER,
  mark INTEGER) STRICT;  -- the last model_call before its end: the detector counts those after it
CREATE UNIQUE INDEX one_pause ON pause(agent_id) WHERE ended_at IS NULL;
CREATE TABLE pause_told(  -- chats that know of it
  pause_id INTEGER NOT NULL REFERENCES pause, chat_key TEXT NOT NULL,
  PRIMARY KEY(pause_id, chat_key)) STRICT, WITHOUT ROWID;

-- A message that entered a running turn did so after this step of it.
ALTER TABLE inbox ADD COLUMN after_step INTEGER;
