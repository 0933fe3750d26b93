-- Who wrote a text: thinker.protocol.messages.Origin. What is known already counts as the user's.
ALTER TABLE inbox ADD COLUMN origin TEXT NOT NULL DEFAULT 'user';
ALTER TABLE fact ADD COLUMN origin TEXT NOT NULL DEFAULT 'user';
ALTER TABLE playbook ADD COLUMN origin TEXT NOT NULL DEFAULT 'user';
ALTER TABLE session ADD COLUMN summary_origin TEXT NOT NULL DEFAULT 'user';
ALTER TABLE profile ADD COLUMN
  origins TEXT NOT NULL DEFAULT '{}';  -- JSON: by path, of the fields that others wrote
ALTER TABLE turn ADD COLUMN
  taint TEXT NOT NULL DEFAULT '{}';  -- orchestrator.journal.turns.taint.Taint
UPDATE playbook SET origin = 'operator' WHERE source = 'seed';
UPDATE message SET body = json_set(body, '$.origin', 'tool') WHERE json_valid(body)
  AND body ->> 'role' = 'tool' AND body ->> 'name' NOT IN('get_time', 'store_fact',
  'search_memories', 'list_facts', 'update_fact', 'delete_fact', 'search_conversations',
  'get_profile', 'update_profile', 'read_skill', 'list_skills', 'store_skill', 'update_skill',
  'delete_skill', 'schedule_task', 'list_tasks', 'cancel_task', 'send_message', 'send_telegram',
  'notify_parent');
