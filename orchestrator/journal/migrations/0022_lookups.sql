-- What is rare is not looked for among everything that is over.
CREATE INDEX outbox_notice ON outbox(chat_key, reply_to)
  WHERE turn_id IS NULL AND reply_to IS NOT NULL;
CREATE INDEX inbox_unanswered ON inbox(state) WHERE state IN('dead','cancelled');
CREATE INDEX inbox_of_agent ON inbox(agent_id, channel, chat_id) WHERE agent_id IS NOT NULL;
CREATE INDEX subagent_chat ON subagent(chat_key) WHERE ended_at IS NULL;

-- A value that is another one whenever an agent's playbooks are, and is never had twice.
CREATE TABLE playbook_state(agent_id TEXT PRIMARY KEY, state BLOB NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO playbook_state
  SELECT agent_id, randomblob(16) FROM
    (SELECT agent_id FROM playbook UNION SELECT agent_id FROM playbook_seed);
CREATE TRIGGER playbook_added AFTER INSERT ON playbook BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, randomblob(16));
END;
CREATE TRIGGER playbook_changed AFTER UPDATE ON playbook BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, randomblob(16));
END;
CREATE TRIGGER playbook_removed AFTER DELETE ON playbook BEGIN
  DELETE FROM playbook_state WHERE agent_id = old.agent_id;
  INSERT INTO playbook_state
    SELECT agent_id, randomblob(16) FROM playbook_seed WHERE agent_id = old.agent_id LIMIT 1;
END;
CREATE TRIGGER playbook_given AFTER INSERT ON playbook_seed BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, randomblob(16));
END;
CREATE TRIGGER playbook_forgotten AFTER DELETE ON playbook_seed BEGIN
  DELETE FROM playbook_state WHERE agent_id = old.agent_id;
END;
