-- Whose memory a row is: `channel:chat_id` (`api:user` for the HTTP API), or '' for every chat.
ALTER TABLE session ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE fact ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE profile_change ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN scope TEXT NOT NULL DEFAULT '';

DROP INDEX fact_once;
CREATE UNIQUE INDEX fact_once ON fact(agent_id, fact, scope);
CREATE INDEX fact_scope ON fact(agent_id, scope);
DROP INDEX task_name;
CREATE UNIQUE INDEX task_name ON task(agent_id, source, scope, name)
  WHERE state IN('active','disabled');
DROP INDEX profile_changes;
CREATE INDEX profile_changes ON profile_change(agent_id, scope, id);

CREATE TABLE profile_of_scope(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL, updated_at INTEGER NOT NULL,
  origins TEXT NOT NULL DEFAULT '{}',  -- JSON: by path, of the fields that others wrote
  PRIMARY KEY(agent_id, scope)) STRICT;
INSERT INTO profile_of_scope SELECT agent_id, '', body, updated_at, origins FROM profile;
DROP TABLE profile;
ALTER TABLE profile_of_scope RENAME TO profile;

CREATE TABLE playbook_of_scope(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL, description TEXT NOT NULL,
  instructions TEXT NOT NULL, keywords TEXT NOT NULL, priority REAL NOT NULL,
  required_tools TEXT NOT NULL,  -- JSON arrays, as keywords is
  enabled INTEGER NOT NULL DEFAULT 1, source TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  origin TEXT NOT NULL DEFAULT 'user', UNIQUE(agent_id, scope, name)) STRICT;
INSERT INTO playbook_of_scope SELECT id, agent_id, '', name, description, instructions, keywords,
  priority, required_tools, enabled, source, created_at, updated_at, origin FROM playbook;
DROP TABLE playbook;
ALTER TABLE playbook_of_scope RENAME TO playbook;

-- A random value for each agent and scope that changes with every change of its playbooks.
DROP TRIGGER playbook_given;
DROP TRIGGER playbook_forgotten;
DROP TABLE playbook_state;
CREATE TABLE playbook_state(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY(agent_id, scope)) STRICT, WITHOUT ROWID;
INSERT INTO playbook_state SELECT agent_id, '', randomblob(16)
  FROM (SELECT agent_id FROM playbook UNION SELECT agent_id FROM playbook_seed);
CREATE TRIGGER playbook_added AFTER INSERT ON playbook BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, new.scope, randomblob(16));
END;
CREATE TRIGGER playbook_changed AFTER UPDATE ON playbook BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, new.scope, randomblob(16));
END;
CREATE TRIGGER playbook_removed AFTER DELETE ON playbook BEGIN
  DELETE FROM playbook_state WHERE agent_id = old.agent_id AND scope = old.scope;
  INSERT INTO playbook_state SELECT old.agent_id, old.scope, randomblob(16)
    WHERE EXISTS(SELECT 1 FROM playbook WHERE agent_id = old.agent_id AND scope = old.scope)
    OR old.scope = '' AND EXISTS(SELECT 1 FROM playbook_seed WHERE agent_id = old.agent_id);
END;
CREATE TRIGGER playbook_given AFTER INSERT ON playbook_seed BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, '', randomblob(16));
END;
CREATE TRIGGER playbook_forgotten AFTER DELETE ON playbook_seed BEGIN
  DELETE FROM playbook_state WHERE agent_id = old.agent_id;
END;

-- A task belongs to the chat that scheduled it, a conversation to its chat. A conversation whose
-- messages have left the inbox belongs to every chat, as the facts, profiles and playbooks do.
UPDATE task SET scope = coalesce(spec ->> '$.notify.channel' || ':'
  || (spec ->> '$.notify.chat_id'), '') WHERE source = 'tool';
UPDATE turn SET scope = coalesce(
  (SELECT task.scope FROM inbox JOIN task_run ON inbox_id = inbox.id JOIN task ON task.id = task_id
    WHERE turn_id = turn.id),
  (SELECT channel || ':' || chat_id FROM inbox WHERE turn_id = turn.id ORDER BY id LIMIT 1), '')
  WHERE state IN('running','waiting');
UPDATE session SET scope = coalesce((SELECT inbox.channel || ':' || coalesce(
    (SELECT old_id FROM chat_move AS moved
      WHERE moved.channel = inbox.channel AND moved.new_id = inbox.chat_id), inbox.chat_id)
    FROM turn JOIN inbox ON inbox.turn_id = turn.id WHERE turn.session_id = session.id LIMIT 1), '')
  WHERE ended_at IS NULL OR EXISTS(SELECT 1 FROM message WHERE session_id = session.id);
