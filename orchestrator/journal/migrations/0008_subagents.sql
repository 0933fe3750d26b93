-- Subagents: what calls of an agent's turns had another process do, and how that ended.

CREATE TABLE subagent(
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL,  -- whose it is
  spec TEXT NOT NULL,  -- orchestrator.journal.subagents.Spec
  created_at INTEGER NOT NULL) STRICT;

CREATE TABLE subagent_run(  -- one piece of work of one: a message in its line, for one call
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL,  -- the call, which can begin nothing twice
  subagent_id TEXT NOT NULL REFERENCES subagent,
  inbox_id INTEGER NOT NULL UNIQUE REFERENCES inbox,
  wait INTEGER NOT NULL,  -- whether the call waits for the result
  result TEXT, failed INTEGER,
  PRIMARY KEY(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX subagent_run_open ON subagent_run(subagent_id) WHERE result IS NULL;

-- A call of a subagent may be the repetition of one of its parent's: they are found by their hash.
CREATE INDEX step_unknown ON step(args_hash) WHERE state = 'unknown';
