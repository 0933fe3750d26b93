-- Tasks that tools made lately are counted for each chat, to bound their number.
CREATE INDEX task_made ON task(agent_id, scope, created_at) WHERE source = 'tool';
