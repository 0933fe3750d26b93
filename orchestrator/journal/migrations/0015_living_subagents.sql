-- Subagents that stay with the chat that they were created in, until its conversation ends.

ALTER TABLE subagent ADD COLUMN chat_key TEXT NOT NULL DEFAULT '';
ALTER TABLE subagent ADD COLUMN ended_at INTEGER;
