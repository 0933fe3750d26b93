-- Scheduled tasks, and one row for each instant at which one was due. Times are milliseconds.

CREATE TABLE task(
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given again: its runs stay
  agent_id TEXT NOT NULL, name TEXT NOT NULL,
  source TEXT NOT NULL CHECK(source IN('skill','tool')),
  spec TEXT NOT NULL,  -- orchestrator.schedules.specs.TaskSpec
  digest TEXT NOT NULL DEFAULT '',  -- of what a skill's file says, to see that it changed
  state TEXT NOT NULL CHECK(state IN('active','disabled','done','cancelled')), note TEXT,
  failures INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER, created_at INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX task_name ON task(agent_id, source, name) WHERE state IN('active','disabled');
CREATE INDEX task_due ON task(next_at) WHERE state = 'active';

CREATE TABLE task_run(
  task_id INTEGER NOT NULL REFERENCES task, scheduled_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN('due','missed','skipped','ran','failed')),
  inbox_id INTEGER UNIQUE REFERENCES inbox, note TEXT, result TEXT,
  created_at INTEGER NOT NULL, ended_at INTEGER,
  PRIMARY KEY(task_id, scheduled_at),
  CHECK(state IN('missed','skipped') OR inbox_id IS NOT NULL)) STRICT, WITHOUT ROWID;
CREATE INDEX task_run_open ON task_run(task_id) WHERE state = 'due';
