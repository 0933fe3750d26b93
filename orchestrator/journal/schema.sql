-- The schema that the changes in migrations/ make, written by scripts/golden.
CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT;
CREATE TABLE audit(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL,
  object TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TABLE inbox(
  id INTEGER PRIMARY KEY, channel TEXT NOT NULL, bot_id TEXT NOT NULL,
  update_id INTEGER,  -- NULL: the message was made on this machine
  chat_id TEXT NOT NULL, thread_id TEXT NOT NULL DEFAULT '', chat_key TEXT NOT NULL,
  message_id TEXT NOT NULL, edit_date INTEGER NOT NULL DEFAULT 0, kind TEXT NOT NULL,
  sender_id TEXT NOT NULL, sender_name TEXT NOT NULL DEFAULT '', private INTEGER NOT NULL,
  target TEXT,  -- the agent that the message itself names
  text TEXT NOT NULL, agent_id TEXT, turn_id TEXT,
  state TEXT NOT NULL CHECK(state IN('new','claimed','done','dead','cancelled')),
  claims INTEGER NOT NULL DEFAULT 0,  -- processes that died while it was claimed
  received_at INTEGER NOT NULL, ended_at INTEGER, error TEXT,
  after_step INTEGER, album TEXT, origin TEXT NOT NULL DEFAULT 'user', while_busy TEXT CHECK(while_busy IN('queue','steer','interrupt')),  -- the step after which the message entered a running turn
  UNIQUE(channel, bot_id, update_id),
  UNIQUE(channel, bot_id, chat_id, message_id, edit_date, kind)) STRICT;
CREATE INDEX inbox_new ON inbox(chat_key, id) WHERE state = 'new';
CREATE INDEX inbox_turn ON inbox(turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_loose ON inbox(ended_at)  -- for retention
  WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE INDEX inbox_local ON inbox(message_id) WHERE update_id IS NULL;
CREATE INDEX inbox_unanswered ON inbox(state) WHERE state IN('dead','cancelled');
CREATE INDEX inbox_of_agent ON inbox(agent_id, channel, chat_id) WHERE agent_id IS NOT NULL;
CREATE TABLE media(  -- the bytes of each picture, once
  id TEXT PRIMARY KEY,  -- SHA-256 of the bytes
  media_type TEXT NOT NULL, data BLOB NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX media_age ON media(at);
CREATE TABLE attachment(
  inbox_id INTEGER NOT NULL REFERENCES inbox, part INTEGER NOT NULL,
  handle TEXT NOT NULL,  -- what the channel downloads it by
  about TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('wanted','kept','given up')),
  media_id TEXT, media_type TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '', body TEXT, voice INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(inbox_id, part)) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_wanted ON attachment(inbox_id) WHERE state = 'wanted';
CREATE TABLE pairing(  -- chats that may, or want to, talk to the agents
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  code TEXT, state TEXT NOT NULL CHECK(state IN('pending','approved','revoked')),
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decided_at INTEGER, bot_id TEXT NOT NULL DEFAULT '', sender_id TEXT NOT NULL DEFAULT '',
  PRIMARY KEY(channel, chat_id)) STRICT;
CREATE TABLE handoff(  -- the agent that answers a chat instead of the one it is routed to
  chat_key TEXT NOT NULL, routed_id TEXT NOT NULL,  -- the agent that bindings or a message name
  agent_id TEXT NOT NULL,  -- the agent that answers
  turn_id TEXT NOT NULL, times INTEGER NOT NULL,  -- the last turn with a handoff, and their count
  at INTEGER NOT NULL,
  PRIMARY KEY(chat_key, routed_id)) STRICT, WITHOUT ROWID;
CREATE TABLE request(  -- an HTTP request: a message with more to it
  inbox_id INTEGER PRIMARY KEY REFERENCES inbox,
  id TEXT NOT NULL UNIQUE,  -- also the message id of its inbox row, on the channel `api`
  idem_key TEXT UNIQUE,  -- the client may repeat the request with this key
  digest TEXT NOT NULL,  -- SHA-256 of the request, so that a key cannot mean two of them
  previous_id TEXT,  -- the request that this one continues
  conversation TEXT,
  body TEXT NOT NULL,  -- orchestrator.journal.turns.api_requests.Body
  outcome TEXT) STRICT;
CREATE INDEX request_conversation ON request(conversation) WHERE conversation IS NOT NULL;
CREATE TABLE session(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER,
  summary TEXT, summary_upto INTEGER NOT NULL DEFAULT 0,  -- the last message in the summary
  tokens INTEGER NOT NULL DEFAULT 0,  -- estimate for the messages after summary_upto
  facts_upto INTEGER NOT NULL DEFAULT 0,  -- the last message that facts were extracted from
  idle_since INTEGER  -- NULL: no message since facts_upto
  , summary_origin TEXT NOT NULL DEFAULT 'user', scope TEXT NOT NULL DEFAULT '') STRICT;
CREATE UNIQUE INDEX one_open_session ON session(agent_id, chat_key) WHERE ended_at IS NULL;
CREATE INDEX session_idle ON session(agent_id, idle_since) WHERE idle_since IS NOT NULL;
CREATE TABLE message(
  id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session, turn_id TEXT,
  body TEXT NOT NULL,  -- thinker.protocol.messages.Message
  at INTEGER NOT NULL) STRICT;
CREATE INDEX message_session ON message(session_id, id);
CREATE VIEW said AS SELECT id, session_id, at, role, text FROM (
  SELECT id, session_id, at,
    CASE WHEN json_valid(body) THEN body ->> 'role' END AS role,
    CASE WHEN json_valid(body) THEN body ->> 'content' END AS text FROM message)
  WHERE role IN('user','assistant') AND text <> '';
CREATE VIRTUAL TABLE message_words USING fts5(
  text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE message_grams USING fts5(
  text, content='', contentless_delete=1, tokenize='trigram');
CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
  DELETE FROM message_words WHERE rowid = old.id;
  DELETE FROM message_grams WHERE rowid = old.id;
END;
CREATE TABLE turn(
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  session_id INTEGER NOT NULL REFERENCES session, recipe TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK(state IN('running','waiting','replied','closed','failed','cancelled','dead')),
  wait TEXT,  -- the reason of `waiting`
  epoch INTEGER NOT NULL, deadline INTEGER NOT NULL,
  allowed INTEGER NOT NULL,  -- milliseconds that the turn may run
  code_ver TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER, stop_reason TEXT, error TEXT,
  repaired INTEGER NOT NULL DEFAULT 0  -- 1: the answer was made from a cut or invalid JSON text
  , taint TEXT NOT NULL DEFAULT '{}', scope TEXT NOT NULL DEFAULT '', ready_at INTEGER) STRICT;
CREATE UNIQUE INDEX one_open_turn ON turn(chat_key) WHERE state IN('running','waiting');
CREATE INDEX turn_session ON turn(session_id, started_at);
CREATE TABLE prompt_part(digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE turn_prompt(  -- the prompts of a turn, and what they were made from
  turn_id TEXT NOT NULL REFERENCES turn, at INTEGER NOT NULL,
  body TEXT NOT NULL,  -- thinker.protocol.prompt_record.PromptRecord
  definition TEXT REFERENCES prompt_part, tools TEXT REFERENCES prompt_part, common TEXT REFERENCES prompt_part, history_first INTEGER, history_last INTEGER,
  PRIMARY KEY(turn_id, at)) STRICT, WITHOUT ROWID;
CREATE INDEX prompt_definition ON turn_prompt(definition) WHERE definition IS NOT NULL;
CREATE INDEX prompt_tools ON turn_prompt(tools) WHERE tools IS NOT NULL;
CREATE TABLE step(  -- a model response, or a tool call
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('model','tool')),
  parent INTEGER,  -- the model response that made this call
  name TEXT NOT NULL, class TEXT NOT NULL, args TEXT, args_hash TEXT, idem_key TEXT UNIQUE,
  call_id TEXT,
  state TEXT NOT NULL CHECK(state IN('planned','intent','done','failed','unknown')),
  result TEXT, finish TEXT, usage TEXT, request_id TEXT, epoch INTEGER NOT NULL,
  t_plan INTEGER NOT NULL, t_intent INTEGER, t_end INTEGER, timing TEXT,
  PRIMARY KEY(turn_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX step_unknown ON step(args_hash) WHERE state = 'unknown';
CREATE TABLE approval(  -- an operator's decision about one call; used at most once (invariant 18)
  id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE,
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, args_hash TEXT NOT NULL, reason TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('pending','granted','denied','used')),
  asked_at INTEGER NOT NULL, expires INTEGER NOT NULL, decided_at INTEGER, by_user TEXT, note TEXT,
  UNIQUE(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT;
CREATE INDEX approval_open ON approval(state) WHERE state IN('pending','granted');
CREATE TABLE subagent(
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL,  -- the agent that created it
  spec TEXT NOT NULL,  -- orchestrator.journal.turns.subagents.SubagentSpec
  created_at INTEGER NOT NULL,
  chat_key TEXT NOT NULL DEFAULT '',  -- the chat whose conversation it belongs to
  ended_at INTEGER) STRICT;
CREATE INDEX subagent_chat ON subagent(chat_key) WHERE ended_at IS NULL;
CREATE TABLE subagent_run(  -- a task of a subagent: a message in its queue, for one call
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL,  -- the call, which cannot start two
  subagent_id TEXT NOT NULL REFERENCES subagent,
  inbox_id INTEGER NOT NULL UNIQUE REFERENCES inbox,
  wait INTEGER NOT NULL,  -- whether the call waits for the result
  result TEXT, failed INTEGER,
  PRIMARY KEY(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX subagent_run_open ON subagent_run(subagent_id) WHERE result IS NULL;
CREATE TABLE outbox(
  id INTEGER PRIMARY KEY, turn_id TEXT REFERENCES turn, part INTEGER NOT NULL,
  channel TEXT NOT NULL, bot_id TEXT NOT NULL, chat_id TEXT NOT NULL,
  thread_id TEXT NOT NULL DEFAULT '', chat_key TEXT NOT NULL,
  mode TEXT NOT NULL CHECK(mode IN('edit','direct')),
  body TEXT NOT NULL, markdown INTEGER NOT NULL, reply_to TEXT,
  final INTEGER NOT NULL DEFAULT 1,  -- 0 while the row is only a streamed preview
  state TEXT NOT NULL CHECK(state IN('queued','ph_sending','ph_sent','sending','delivered',
    'unknown','abandoned','failed_permanent')),
  ph_id TEXT, msg_id TEXT,  -- the platform's ids of the placeholder and of the message
  attempt INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0, error TEXT,
  created_at INTEGER NOT NULL, t_sending INTEGER, ended_at INTEGER,
  again INTEGER NOT NULL DEFAULT 0  -- repetitions left for a message of unknown delivery
  , rendered TEXT, approval_id INTEGER, aside INTEGER NOT NULL DEFAULT 0, media_id TEXT, file_name TEXT, voice INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE UNIQUE INDEX outbox_part ON outbox(turn_id, part) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_open ON outbox(chat_key, id)
  WHERE state NOT IN('delivered','unknown','abandoned','failed_permanent');
CREATE INDEX outbox_loose ON outbox(ended_at)  -- for retention
  WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE INDEX outbox_unknown ON outbox(chat_key) WHERE state = 'unknown';
CREATE TABLE transition(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('inbox','turn','step','outbox')),
  number INTEGER NOT NULL,  -- inbox.id, outbox.id or step.seq; 0 for a turn
  turn_id TEXT, state TEXT NOT NULL, note TEXT) STRICT;
CREATE INDEX transition_turn ON transition(turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX transition_inbox ON transition(number) WHERE kind = 'inbox';
CREATE INDEX transition_loose ON transition(number)  -- for retention
  WHERE kind = 'outbox' AND turn_id IS NULL;
CREATE TRIGGER inbox_came AFTER INSERT ON inbox BEGIN
  INSERT INTO transition(at, kind, number, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'inbox', new.id, new.state, new.error);
END;
CREATE TRIGGER inbox_moved AFTER UPDATE OF state, claims ON inbox
  WHEN old.state IS NOT new.state OR new.claims > old.claims BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'inbox', new.id, new.turn_id, new.state,
      CASE WHEN new.claims > old.claims THEN format('process death %d', new.claims)
        ELSE new.error END);
END;
CREATE TRIGGER turn_began AFTER INSERT ON turn BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'turn', 0, new.id, new.state,
      format('epoch %d', new.epoch));
END;
CREATE TRIGGER turn_moved AFTER UPDATE OF state, epoch ON turn
  WHEN old.state IS NOT new.state OR old.epoch IS NOT new.epoch BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'turn', 0, new.id, new.state,
      CASE WHEN old.epoch IS NOT new.epoch THEN format('adopted in epoch %d', new.epoch)
        ELSE new.error END);
END;
CREATE TRIGGER step_came AFTER INSERT ON step BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'step', new.seq, new.turn_id, new.state);
END;
CREATE TRIGGER step_moved AFTER UPDATE ON step BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'step', new.seq, new.turn_id, new.state);
END;
CREATE TRIGGER outbox_came AFTER INSERT ON outbox BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'outbox', new.id, new.turn_id, new.state);
END;
CREATE TRIGGER outbox_moved AFTER UPDATE OF state, attempt ON outbox
  WHEN old.state IS NOT new.state OR old.attempt IS NOT new.attempt BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'outbox', new.id, new.turn_id, new.state,
      CASE WHEN old.attempt IS NOT new.attempt THEN format('attempt %d', new.attempt)
        ELSE new.error END);
END;
CREATE TABLE model_call(  -- reserved at an estimate before the call, settled after it
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, turn_id TEXT, model TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('reserved','settled','lost')),
  prompt INTEGER NOT NULL, completion INTEGER NOT NULL, cached INTEGER NOT NULL,  -- tokens
  usd REAL,  -- NULL: the model has no price
  at INTEGER NOT NULL, seq INTEGER, purpose TEXT) STRICT;
CREATE INDEX model_call_window ON model_call(agent_id, at, prompt, completion, usd);
CREATE TABLE pause(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
  -- account: the provider refuses the agent's key or has no credit for it
  kind TEXT NOT NULL CHECK(kind IN('operator','anomaly','budget','account')),
  reason TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER,
  mark INTEGER) STRICT;
CREATE UNIQUE INDEX one_pause ON pause(agent_id) WHERE ended_at IS NULL;
CREATE TABLE pause_told(  -- chats that were sent the notice of a pause
  pause_id INTEGER NOT NULL REFERENCES pause, chat_key TEXT NOT NULL,
  PRIMARY KEY(pause_id, chat_key)) STRICT, WITHOUT ROWID;
CREATE TABLE fact(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, fact TEXT NOT NULL, category TEXT NOT NULL,
  source TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 1, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT 'user', scope TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX fact_category ON fact(agent_id, category, id);
CREATE VIRTUAL TABLE fact_words USING fts5(
  fact, content='fact', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE fact_grams USING fts5(
  fact, content='fact', content_rowid='id', tokenize='trigram');
CREATE TRIGGER fact_added AFTER INSERT ON fact BEGIN
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
CREATE TRIGGER fact_removed AFTER DELETE ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
END;
CREATE TRIGGER fact_changed AFTER UPDATE OF fact ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
CREATE TABLE fact_vector(  -- of one model for each agent at a time, so that they are comparable
  fact_id INTEGER PRIMARY KEY REFERENCES fact ON DELETE CASCADE,
  agent_id TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  signs BLOB NOT NULL,  -- a bit for each number of the vector, for a first, cheap comparison
  vector BLOB NOT NULL) STRICT;
CREATE INDEX fact_vector_model ON fact_vector(agent_id, model, dimensions);
CREATE TRIGGER fact_means_another AFTER UPDATE OF fact ON fact WHEN old.fact IS NOT new.fact BEGIN
  DELETE FROM fact_vector WHERE fact_id = old.id;
END;
CREATE TABLE profile_change(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, path TEXT NOT NULL,
  before TEXT, after TEXT,  -- JSON; NULL: there was, or is, nothing
  source TEXT NOT NULL, at INTEGER NOT NULL, scope TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE playbook_seed(  -- playbooks that an agent got once; a deleted one does not come back
  agent_id TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(agent_id, name)) STRICT, WITHOUT ROWID;
CREATE TABLE task(
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- an id is never used again: its runs are kept
  agent_id TEXT NOT NULL, name TEXT NOT NULL,
  source TEXT NOT NULL CHECK(source IN('skill','tool')),
  spec TEXT NOT NULL,  -- orchestrator.schedules.specs.TaskSpec
  digest TEXT NOT NULL DEFAULT '',  -- of the skill's file, to notice a change of it
  state TEXT NOT NULL CHECK(state IN('active','disabled','done','cancelled')), note TEXT,
  failures INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER, created_at INTEGER NOT NULL, scope TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX task_due ON task(next_at) WHERE state = 'active';
CREATE TABLE task_run(  -- an instant at which a task was due
  task_id INTEGER NOT NULL REFERENCES task, scheduled_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN('due','missed','skipped','ran','failed')),
  inbox_id INTEGER UNIQUE REFERENCES inbox, note TEXT, result TEXT,
  created_at INTEGER NOT NULL, ended_at INTEGER,
  PRIMARY KEY(task_id, scheduled_at),
  CHECK(state IN('missed','skipped') OR inbox_id IS NOT NULL)) STRICT, WITHOUT ROWID;
CREATE INDEX task_run_open ON task_run(task_id) WHERE state = 'due';
CREATE TABLE tool_pin(  -- the tools of MCP servers as they were first seen or last approved
  server TEXT NOT NULL, tool TEXT NOT NULL,
  sha256 TEXT NOT NULL,  -- of the tool as its server listed it then
  changed TEXT,  -- of the tool as it is listed now; not NULL: blocked until approved
  by TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(server, tool)) STRICT, WITHOUT ROWID;
CREATE TABLE chat_move(  -- groups that became supergroups; every other row has the first id
  channel TEXT NOT NULL, old_id TEXT NOT NULL, new_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(channel, new_id)) STRICT, WITHOUT ROWID;
CREATE TABLE tool_list(  -- what each MCP server listed last, offered until it answers again
  server TEXT NOT NULL PRIMARY KEY,
  tools TEXT NOT NULL,  -- JSON: orchestrator.toolhost.wire.ServerTool
  at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_album ON inbox(chat_key, album) WHERE album IS NOT NULL;
CREATE UNIQUE INDEX fact_once ON fact(agent_id, fact, scope);
CREATE INDEX fact_scope ON fact(agent_id, scope);
CREATE UNIQUE INDEX task_name ON task(agent_id, source, scope, name)
  WHERE state IN('active','disabled');
CREATE INDEX profile_changes ON profile_change(agent_id, scope, id);
CREATE TABLE "profile"(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL, updated_at INTEGER NOT NULL,
  origins TEXT NOT NULL DEFAULT '{}',  -- JSON: by path, of the fields that others wrote
  PRIMARY KEY(agent_id, scope)) STRICT;
CREATE TABLE "playbook"(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL, description TEXT NOT NULL,
  instructions TEXT NOT NULL, keywords TEXT NOT NULL, priority REAL NOT NULL,
  required_tools TEXT NOT NULL,  -- JSON arrays, as keywords is
  enabled INTEGER NOT NULL DEFAULT 1, source TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  origin TEXT NOT NULL DEFAULT 'user', UNIQUE(agent_id, scope, name)) STRICT;
CREATE TABLE playbook_state(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY(agent_id, scope)) STRICT, WITHOUT ROWID;
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
CREATE INDEX outbox_question ON outbox(approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX task_made ON task(agent_id, scope, created_at) WHERE source = 'tool';
CREATE TABLE held(
  inbox_id INTEGER PRIMARY KEY REFERENCES inbox,
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX held_chat ON held(channel, chat_id);
CREATE INDEX model_call_turn ON model_call(turn_id);
CREATE INDEX session_size ON session(tokens) WHERE ended_at IS NULL AND tokens > 1000;
CREATE INDEX prompt_common ON turn_prompt(common) WHERE common IS NOT NULL;
CREATE TRIGGER message_said AFTER INSERT ON message WHEN new.id % 64 = 0 BEGIN
  INSERT INTO message_grams(rowid, text) SELECT id, text FROM said
    WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize)
    AND octet_length(text) <> length(text);
  INSERT INTO message_words(rowid, text) SELECT id, text FROM said
    WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize);
END;
CREATE TABLE web_session(
  digest TEXT PRIMARY KEY, user TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  made_at INTEGER NOT NULL, last_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, label TEXT, made_by TEXT NOT NULL DEFAULT 'code') STRICT;
CREATE TABLE web_invite(
  digest TEXT PRIMARY KEY, user TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  ends_at INTEGER NOT NULL, used_at INTEGER) STRICT;
CREATE TABLE call_verdict(
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, happened INTEGER NOT NULL,
  by_user TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_dead ON inbox(id) WHERE state = 'dead';
CREATE TABLE sent_spans(
  id INTEGER PRIMARY KEY CHECK(id = 1), transition_id INTEGER NOT NULL,
  at INTEGER NOT NULL, read_at INTEGER NOT NULL) STRICT;
CREATE INDEX outbox_aside ON outbox(chat_key, id) WHERE turn_id IS NULL OR aside = 1;
CREATE TABLE tool_file(  -- files and pictures that tool calls returned
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL, part INTEGER NOT NULL,
  media_id TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(turn_id, seq, part)) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_media ON attachment(media_id) WHERE media_id IS NOT NULL;
CREATE INDEX outbox_media ON outbox(media_id) WHERE media_id IS NOT NULL;
CREATE INDEX tool_file_media ON tool_file(media_id);
CREATE TABLE "channel_offset"(
  channel TEXT NOT NULL, bot_id TEXT NOT NULL, next ANY NOT NULL,
  PRIMARY KEY(channel, bot_id)) STRICT, WITHOUT ROWID;
CREATE TABLE conversation(
  id TEXT PRIMARY KEY, created_at INTEGER NOT NULL,
  metadata TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE conversation_item(
  conversation_id TEXT NOT NULL REFERENCES conversation, seq INTEGER NOT NULL,
  message TEXT NOT NULL,  -- as the worker has it
  request_id TEXT,  -- the request that took it in; NULL while it waits for one
  PRIMARY KEY(conversation_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_item_request ON conversation_item(request_id)
  WHERE request_id IS NOT NULL;
PRAGMA user_version=21;
