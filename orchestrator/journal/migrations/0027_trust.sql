-- Questions about several calls, and approvals that stand ------------------------------------------

ALTER TABLE approval ADD COLUMN asked_with INTEGER REFERENCES approval;
ALTER TABLE approval ADD COLUMN sources TEXT;
ALTER TABLE approval ADD COLUMN may_stand INTEGER NOT NULL DEFAULT 0;
CREATE INDEX approval_asked_with ON approval(asked_with) WHERE asked_with IS NOT NULL;
CREATE TABLE standing_approval(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, tool TEXT NOT NULL, chat_key TEXT,
  arguments TEXT NOT NULL, by_user TEXT NOT NULL, made_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL, used INTEGER NOT NULL DEFAULT 0, last_used_at INTEGER) STRICT;
CREATE INDEX standing_approval_tool ON standing_approval(agent_id, tool);

-- What an answer claims to have done ---------------------------------------------------------------

ALTER TABLE turn ADD COLUMN receipt TEXT;
