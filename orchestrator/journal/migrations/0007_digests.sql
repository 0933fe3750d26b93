-- Compaction and fact extraction: what of a session is not in its summary, what was looked through.

ALTER TABLE session ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;  -- estimate, after summary_upto
ALTER TABLE session ADD COLUMN facts_upto INTEGER NOT NULL DEFAULT 0;  -- last message looked through
ALTER TABLE session ADD COLUMN idle_since INTEGER;  -- NULL: nothing to look through until more comes
UPDATE session SET
  tokens = coalesce((SELECT sum(length(body)) / 4 FROM message
    WHERE session_id = session.id AND message.id > summary_upto), 0),
  facts_upto = coalesce((SELECT max(id) FROM message WHERE session_id = session.id), 0);
CREATE INDEX session_size ON session(tokens) WHERE ended_at IS NULL;
CREATE INDEX session_idle ON session(agent_id, idle_since) WHERE idle_since IS NOT NULL;
