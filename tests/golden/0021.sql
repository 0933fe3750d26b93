PRAGMA page_size=1024;

PRAGMA writable_schema=ON;

BEGIN TRANSACTION;

DROP TABLE IF EXISTS approval;
CREATE TABLE approval(  -- an operator's decision about one call; used at most once (invariant 18)
  id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE,
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, args_hash TEXT NOT NULL, reason TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('pending','granted','denied','used')),
  asked_at INTEGER NOT NULL, expires INTEGER NOT NULL, decided_at INTEGER, by_user TEXT,
  note TEXT,  -- why it was denied
  UNIQUE(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT;
INSERT INTO approval VALUES(1,'CD34','turn-waiting',2,'0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','the policy requires it','pending',1767225646000,1767312046000,NULL,NULL,NULL);
CREATE INDEX approval_open ON approval(state) WHERE state IN('pending','granted');

DROP TABLE IF EXISTS attachment;
CREATE TABLE attachment(
  inbox_id INTEGER NOT NULL REFERENCES inbox, part INTEGER NOT NULL,
  handle TEXT NOT NULL,  -- what the channel downloads it by
  about TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('wanted','kept','given up')),
  media_id TEXT, media_type TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '',
  body TEXT,  -- how the text of a document begins, as models read it
  voice INTEGER NOT NULL DEFAULT 0,  -- 1: the person says it, so that its text is the message's
  PRIMARY KEY(inbox_id, part)) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_media ON attachment(media_id) WHERE media_id IS NOT NULL;
CREATE INDEX attachment_wanted ON attachment(inbox_id) WHERE state = 'wanted';

DROP TABLE IF EXISTS audit;
CREATE TABLE audit(  -- refusals, approvals, deletions: each has the hash of the one before it
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL,
  object TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
INSERT INTO audit VALUES(1,1767225602000,'admission','refused: the chat is not paired','inbox 2','','b084fb1e32d5d456eacb2a74e80fb7eee3c599fd5aad25c9127d3ddbbab7b9b5');
INSERT INTO audit VALUES(2,1767225640000,'dispatcher','dead letter: signal 11','turn turn-dead','b084fb1e32d5d456eacb2a74e80fb7eee3c599fd5aad25c9127d3ddbbab7b9b5','82581d75c28ec35a0bddb51a4a5d97dd4bf0c67a72af8e95097932a862fc44ee');

DROP TABLE IF EXISTS call_verdict;
CREATE TABLE call_verdict(  -- what a person found out about a call of unknown outcome
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, happened INTEGER NOT NULL,
  by_user TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS channel_offset;
CREATE TABLE channel_offset(  -- where a channel goes on: a number, or a platform's own mark
  channel TEXT NOT NULL, bot_id TEXT NOT NULL, next ANY NOT NULL,
  PRIMARY KEY(channel, bot_id)) STRICT, WITHOUT ROWID;
INSERT INTO channel_offset VALUES('telegram','1',13);

DROP TABLE IF EXISTS chat_move;
CREATE TABLE chat_move(  -- groups that became supergroups; every other row has the first id
  channel TEXT NOT NULL, old_id TEXT NOT NULL, new_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(channel, new_id)) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS conversation;
CREATE TABLE conversation(  -- made by a client of the Responses API
  id TEXT PRIMARY KEY, created_at INTEGER NOT NULL,
  metadata TEXT NOT NULL) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS conversation_item;
CREATE TABLE conversation_item(
  conversation_id TEXT NOT NULL REFERENCES conversation, seq INTEGER NOT NULL,
  message TEXT NOT NULL,  -- as the worker has it
  request_id TEXT,  -- the request that took it in; NULL while it waits for one
  PRIMARY KEY(conversation_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_item_request ON conversation_item(request_id)
  WHERE request_id IS NOT NULL;

DROP TABLE IF EXISTS fact;
CREATE TABLE fact(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, fact TEXT NOT NULL, category TEXT NOT NULL,
  source TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 1, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT 'user',
  scope TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO fact VALUES(1,'work','the user likes green tea','preference','turn-closed',1.0,1767225641000,1767225641000,'user','');
CREATE TRIGGER fact_added AFTER INSERT ON fact BEGIN
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
CREATE INDEX fact_category ON fact(agent_id, category, id);
CREATE TRIGGER fact_changed AFTER UPDATE OF fact ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
CREATE TRIGGER fact_means_another AFTER UPDATE OF fact ON fact WHEN old.fact IS NOT new.fact BEGIN
  DELETE FROM fact_vector WHERE fact_id = old.id;
END;
CREATE UNIQUE INDEX fact_once ON fact(agent_id, fact, scope);
CREATE TRIGGER fact_removed AFTER DELETE ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
END;
CREATE INDEX fact_scope ON fact(agent_id, scope);

DELETE FROM sqlite_schema WHERE name='fact_grams' AND type='table';
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) VALUES('table','fact_grams','fact_grams',0,'CREATE VIRTUAL TABLE fact_grams USING fts5(
  fact, content=''fact'', content_rowid=''id'', tokenize=''trigram'')');

DROP TABLE IF EXISTS fact_grams_config;
CREATE TABLE 'fact_grams_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO fact_grams_config VALUES('version',4);

DROP TABLE IF EXISTS fact_grams_data;
CREATE TABLE 'fact_grams_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO fact_grams_data VALUES(1,X'0116');
INSERT INTO fact_grams_data VALUES(10,X'000000000101010001010101');
INSERT INTO fact_grams_data VALUES(137438953473,X'000000AA043020677201021002026C6901020A020274650102160202757301020501036520750102040202656E01021302026E20010214020272200102080202732001020E010367726501021101036865200102030103696B6501020C01036B657301020D01036C696B01020B01036E2074010215010372206C01020902026565010212010373206701020F02026572010207010374656101021702026865010202010375736501020604080707070807070707080808080808080708070807');

DROP TABLE IF EXISTS fact_grams_docsize;
CREATE TABLE 'fact_grams_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO fact_grams_docsize VALUES(1,X'16');

DROP TABLE IF EXISTS fact_grams_idx;
CREATE TABLE 'fact_grams_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO fact_grams_idx VALUES(1,X'',2);

DROP TABLE IF EXISTS fact_vector;
CREATE TABLE fact_vector(  -- of one model for each agent at a time, so that they are comparable
  fact_id INTEGER PRIMARY KEY REFERENCES fact ON DELETE CASCADE,
  agent_id TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  signs BLOB NOT NULL,  -- a bit for each number of the vector, for a first, cheap comparison
  vector BLOB NOT NULL) STRICT;
CREATE INDEX fact_vector_model ON fact_vector(agent_id, model, dimensions);

DELETE FROM sqlite_schema WHERE name='fact_words' AND type='table';
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) VALUES('table','fact_words','fact_words',0,'CREATE VIRTUAL TABLE fact_words USING fts5(
  fact, content=''fact'', content_rowid=''id'', tokenize=''porter unicode61 remove_diacritics 2'')');

DROP TABLE IF EXISTS fact_words_config;
CREATE TABLE 'fact_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO fact_words_config VALUES('version',4);

DROP TABLE IF EXISTS fact_words_data;
CREATE TABLE 'fact_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO fact_words_data VALUES(1,X'0105');
INSERT INTO fact_words_data VALUES(10,X'000000000101010001010101');
INSERT INTO fact_words_data VALUES(137438953473,X'0000002F0630677265656E01020501046C696B65010204010374656101020602026865010202010475736572010203040A090807');

DROP TABLE IF EXISTS fact_words_docsize;
CREATE TABLE 'fact_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO fact_words_docsize VALUES(1,X'05');

DROP TABLE IF EXISTS fact_words_idx;
CREATE TABLE 'fact_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO fact_words_idx VALUES(1,X'',2);

DROP TABLE IF EXISTS handoff;
CREATE TABLE handoff(  -- the agent that answers a chat instead of the one it is routed to
  chat_key TEXT NOT NULL, routed_id TEXT NOT NULL,  -- the agent that bindings or a message name
  agent_id TEXT NOT NULL,  -- the agent that answers
  turn_id TEXT NOT NULL, times INTEGER NOT NULL,  -- the last turn with a handoff, and their count
  at INTEGER NOT NULL,
  PRIMARY KEY(chat_key, routed_id)) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS held;
CREATE TABLE held(  -- what a chat wrote before it was paired: the texts of its refused messages
  inbox_id INTEGER PRIMARY KEY REFERENCES inbox,
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX held_chat ON held(channel, chat_id);

DROP TABLE IF EXISTS inbox;
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
  after_step INTEGER,  -- the step after which the message entered a running turn
  album TEXT,  -- the platform's id of the album that the message is a part of
  origin TEXT NOT NULL DEFAULT 'user',
  -- What the message does to an answer that is being written; NULL: as the agent's whileBusy says.
  while_busy TEXT CHECK(while_busy IN('queue','steer','interrupt')),
  UNIQUE(channel, bot_id, update_id),
  UNIQUE(channel, bot_id, chat_id, message_id, edit_date, kind)) STRICT;
INSERT INTO inbox VALUES(1,'telegram','1',1,'101','','telegram/1/101/','1',0,'message','101','Ann',1,NULL,'a new message',NULL,NULL,'new',0,1767225601000,NULL,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(2,'telegram','1',2,'102','','telegram/1/102/','2',0,'message','102','Ann',1,NULL,'',NULL,NULL,'cancelled',0,1767225602000,1767225602000,'the chat is not paired',NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(3,'telegram','1',3,'103','','telegram/1/103/','3',0,'message','103','Ann',1,NULL,'question 3','work','turn-fresh','claimed',0,1767225603000,NULL,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(4,'telegram','1',4,'104','','telegram/1/104/','4',0,'message','104','Ann',1,NULL,'question 4','work','turn-planned','claimed',0,1767225604000,NULL,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(5,'telegram','1',5,'105','','telegram/1/105/','5',0,'message','105','Ann',1,NULL,'question 5','work','turn-intent','claimed',0,1767225605000,NULL,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(6,'telegram','1',6,'106','','telegram/1/106/','6',0,'message','106','Ann',1,NULL,'question 6','work','turn-closed','done',0,1767225606000,1767225626000,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(7,'telegram','1',7,'107','','telegram/1/107/','7',0,'message','107','Ann',1,NULL,'question 7','work','turn-sending-direct','done',0,1767225607000,1767225630000,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(8,'telegram','1',8,'108','','telegram/1/108/','8',0,'message','108','Ann',1,NULL,'question 8','work','turn-preview','claimed',0,1767225608000,NULL,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(9,'telegram','1',9,'109','','telegram/1/109/','9',0,'message','109','Ann',1,NULL,'question 9','work','turn-sending-edit','done',0,1767225609000,1767225637000,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(10,'telegram','1',10,'110','','telegram/1/110/','10',0,'message','110','Ann',1,NULL,'question 10','work','turn-dead','dead',3,1767225610000,1767225640000,'signal 11',NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(11,'telegram','1',11,'104','','telegram/1/104/','11',0,'message','104','Ann',1,NULL,'a second question, behind an open turn',NULL,NULL,'new',0,1767225611000,NULL,NULL,NULL,NULL,'user',NULL);
INSERT INTO inbox VALUES(12,'telegram','1',12,'111','','telegram/1/111/','12',0,'message','111','Ann',1,NULL,'question 12','work','turn-waiting','claimed',0,1767225643000,NULL,NULL,NULL,NULL,'user',NULL);
CREATE INDEX inbox_album ON inbox(chat_key, album) WHERE album IS NOT NULL;
CREATE TRIGGER inbox_came AFTER INSERT ON inbox BEGIN
  INSERT INTO transition(at, kind, number, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'inbox', new.id, new.state, new.error);
END;
CREATE INDEX inbox_dead ON inbox(id) WHERE state = 'dead';
CREATE INDEX inbox_local ON inbox(message_id) WHERE update_id IS NULL;
CREATE INDEX inbox_loose ON inbox(ended_at)  -- for retention
  WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE TRIGGER inbox_moved AFTER UPDATE OF state, claims ON inbox
  WHEN old.state IS NOT new.state OR new.claims > old.claims BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'inbox', new.id, new.turn_id, new.state,
      CASE WHEN new.claims > old.claims THEN format('process death %d', new.claims)
        ELSE new.error END);
END;
CREATE INDEX inbox_new ON inbox(chat_key, id) WHERE state = 'new';
CREATE INDEX inbox_of_agent ON inbox(agent_id, channel, chat_id) WHERE agent_id IS NOT NULL;
CREATE INDEX inbox_turn ON inbox(turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_unanswered ON inbox(state) WHERE state IN('dead','cancelled');

DROP TABLE IF EXISTS media;
CREATE TABLE media(  -- the bytes of each picture or file, once
  id TEXT PRIMARY KEY,  -- SHA-256 of the bytes
  media_type TEXT NOT NULL, data BLOB NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX media_age ON media(at);

DROP TABLE IF EXISTS message;
CREATE TABLE message(
  id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session, turn_id TEXT,
  body TEXT NOT NULL,  -- thinker.protocol.messages.Message
  at INTEGER NOT NULL) STRICT;
INSERT INTO message VALUES(1,4,'turn-closed','{"role":"user","content":"question 6","images":[],"context":[],"origin":"user","sender":"","fence":"","documents":[]}',1767225626000);
INSERT INTO message VALUES(2,4,'turn-closed','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null,"repaired":false}],"reasoning":null,"origin":"user","private":false,"mixed":false}',1767225626000);
INSERT INTO message VALUES(3,4,'turn-closed','{"role":"tool","call_id":"c0","name":"get_time","content":"noon","is_error":false,"images":[],"origin":"operator","private":false,"fence":""}',1767225626000);
INSERT INTO message VALUES(4,4,'turn-closed','{"role":"assistant","content":"It is noon.","tool_calls":[],"reasoning":null,"origin":"user","private":false,"mixed":false}',1767225626000);
INSERT INTO message VALUES(5,5,'turn-sending-direct','{"role":"user","content":"question 7","images":[],"context":[],"origin":"user","sender":"","fence":"","documents":[]}',1767225630000);
INSERT INTO message VALUES(6,5,'turn-sending-direct','{"role":"assistant","content":"first part\nsecond part","tool_calls":[],"reasoning":null,"origin":"user","private":false,"mixed":false}',1767225630000);
INSERT INTO message VALUES(7,7,'turn-sending-edit','{"role":"user","content":"question 9","images":[],"context":[],"origin":"user","sender":"","fence":"","documents":[]}',1767225637000);
INSERT INTO message VALUES(8,7,'turn-sending-edit','{"role":"assistant","content":"An edited answer.","tool_calls":[],"reasoning":null,"origin":"user","private":false,"mixed":false}',1767225637000);
CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
  DELETE FROM message_words WHERE rowid = old.id;
  DELETE FROM message_grams WHERE rowid = old.id;
END;
CREATE TRIGGER message_said AFTER INSERT ON message WHEN new.id % 64 = 0 BEGIN
  INSERT INTO message_grams(rowid, text) SELECT id, text FROM said
    WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize)
    AND octet_length(text) <> length(text);
  INSERT INTO message_words(rowid, text) SELECT id, text FROM said
    WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize);
END;
CREATE INDEX message_session ON message(session_id, id);

DELETE FROM sqlite_schema WHERE name='message_grams' AND type='table';
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) VALUES('table','message_grams','message_grams',0,'CREATE VIRTUAL TABLE message_grams USING fts5(
  text, content='''', contentless_delete=1, tokenize=''trigram'')');

DROP TABLE IF EXISTS message_grams_config;
CREATE TABLE 'message_grams_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO message_grams_config VALUES('version',4);

DROP TABLE IF EXISTS message_grams_data;
CREATE TABLE 'message_grams_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO message_grams_data VALUES(1,X'');
INSERT INTO message_grams_data VALUES(10,X'00000000FF000001000000');

DROP TABLE IF EXISTS message_grams_docsize;
CREATE TABLE 'message_grams_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

DROP TABLE IF EXISTS message_grams_idx;
CREATE TABLE 'message_grams_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

DELETE FROM sqlite_schema WHERE name='message_words' AND type='table';
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) VALUES('table','message_words','message_words',0,'CREATE VIRTUAL TABLE message_words USING fts5(
  text, content='''', contentless_delete=1, tokenize=''porter unicode61 remove_diacritics 2'')');

DROP TABLE IF EXISTS message_words_config;
CREATE TABLE 'message_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO message_words_config VALUES('version',4);

DROP TABLE IF EXISTS message_words_data;
CREATE TABLE 'message_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO message_words_data VALUES(1,X'');
INSERT INTO message_words_data VALUES(10,X'00000000FF000001000000');

DROP TABLE IF EXISTS message_words_docsize;
CREATE TABLE 'message_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

DROP TABLE IF EXISTS message_words_idx;
CREATE TABLE 'message_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

DROP TABLE IF EXISTS meta;
CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT;
INSERT INTO meta VALUES('epoch','1');

DROP TABLE IF EXISTS model_call;
CREATE TABLE model_call(  -- reserved at an estimate before the call, settled after it
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, turn_id TEXT, model TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('reserved','settled','lost')),
  prompt INTEGER NOT NULL, completion INTEGER NOT NULL, cached INTEGER NOT NULL,  -- tokens
  usd REAL,  -- NULL: the model has no price
  at INTEGER NOT NULL,
  seq INTEGER,  -- of the response, in `step`
  purpose TEXT) STRICT;
CREATE INDEX model_call_turn ON model_call(turn_id);
CREATE INDEX model_call_window ON model_call(agent_id, at, prompt, completion, usd);

DROP TABLE IF EXISTS outbox;
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
  again INTEGER NOT NULL DEFAULT 0,  -- repetitions left for a message of unknown delivery
  rendered TEXT,  -- the body in the platform's markup, for a part of a reply that was cut
  approval_id INTEGER,  -- the approval that the message asks for, or tells the outcome of
  aside INTEGER NOT NULL DEFAULT 0,  -- 1: its turn is of another queue
  media_id TEXT, file_name TEXT,  -- of the file that is sent; the body is its caption
  voice INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO outbox VALUES(1,NULL,0,'telegram','1','102','','telegram/1/102/','direct','Who are you?',0,NULL,1,'queued',NULL,NULL,0,0,NULL,1767225602000,NULL,NULL,0,NULL,NULL,0,NULL,NULL,0);
INSERT INTO outbox VALUES(2,'turn-closed',0,'telegram','1','106','','telegram/1/106/','direct','It is noon.',1,NULL,1,'delivered',NULL,'901',1,0,NULL,1767225626000,1767225627000,1767225628000,0,NULL,NULL,0,NULL,NULL,0);
INSERT INTO outbox VALUES(3,'turn-sending-direct',0,'telegram','1','107','','telegram/1/107/','direct','first part',1,NULL,1,'sending',NULL,NULL,1,0,NULL,1767225630000,1767225631000,NULL,0,NULL,NULL,0,NULL,NULL,0);
INSERT INTO outbox VALUES(4,'turn-sending-direct',1,'telegram','1','107','','telegram/1/107/','direct','second part',1,NULL,1,'queued',NULL,NULL,0,0,NULL,1767225630000,NULL,NULL,0,NULL,NULL,0,NULL,NULL,0);
INSERT INTO outbox VALUES(5,'turn-preview',0,'telegram','1','108','','telegram/1/108/','edit','I am thinking about …',1,NULL,0,'ph_sent','902',NULL,1,0,NULL,1767225633000,1767225634000,NULL,0,NULL,NULL,0,NULL,NULL,0);
INSERT INTO outbox VALUES(6,'turn-sending-edit',0,'telegram','1','109','','telegram/1/109/','edit','An edited answer.',1,NULL,1,'ph_sending',NULL,NULL,1,0,NULL,1767225637000,1767225638000,NULL,0,NULL,NULL,0,NULL,NULL,0);
INSERT INTO outbox VALUES(7,'turn-dead',0,'telegram','1','110','','telegram/1/110/','direct','I gave it up.',0,NULL,1,'queued',NULL,NULL,0,0,NULL,1767225640000,NULL,NULL,0,NULL,NULL,0,NULL,NULL,0);
CREATE INDEX outbox_aside ON outbox(chat_key, id) WHERE turn_id IS NULL OR aside = 1;
CREATE TRIGGER outbox_came AFTER INSERT ON outbox BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'outbox', new.id, new.turn_id, new.state);
END;
CREATE INDEX outbox_loose ON outbox(ended_at)  -- for retention
  WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE INDEX outbox_media ON outbox(media_id) WHERE media_id IS NOT NULL;
CREATE TRIGGER outbox_moved AFTER UPDATE OF state, attempt ON outbox
  WHEN old.state IS NOT new.state OR old.attempt IS NOT new.attempt BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(unixepoch('subsec') * 1000), 'outbox', new.id, new.turn_id, new.state,
      CASE WHEN old.attempt IS NOT new.attempt THEN format('attempt %d', new.attempt)
        ELSE new.error END);
END;
CREATE INDEX outbox_open ON outbox(chat_key, id)
  WHERE state NOT IN('delivered','unknown','abandoned','failed_permanent');
CREATE UNIQUE INDEX outbox_part ON outbox(turn_id, part) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_question ON outbox(approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX outbox_unknown ON outbox(chat_key) WHERE state = 'unknown';

DROP TABLE IF EXISTS pairing;
CREATE TABLE pairing(  -- chats that may, or want to, talk to the agents
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  code TEXT, state TEXT NOT NULL CHECK(state IN('pending','approved','revoked')),
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decided_at INTEGER,
  bot_id TEXT NOT NULL DEFAULT '',  -- the bot that was written to
  sender_id TEXT NOT NULL DEFAULT '',  -- the person who asked, whose id may differ from the chat's
  PRIMARY KEY(channel, chat_id)) STRICT;
INSERT INTO pairing VALUES('telegram','102','Ann','AB12','pending',1767225642000,1767229242000,NULL,'1','');

DROP TABLE IF EXISTS pause;
CREATE TABLE pause(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
  -- account: the provider refuses the agent's key or has no credit for it
  kind TEXT NOT NULL CHECK(kind IN('operator','anomaly','budget','account')),
  reason TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER,
  mark INTEGER) STRICT;
CREATE UNIQUE INDEX one_pause ON pause(agent_id) WHERE ended_at IS NULL;

DROP TABLE IF EXISTS pause_told;
CREATE TABLE pause_told(  -- chats that were sent the notice of a pause
  pause_id INTEGER NOT NULL REFERENCES pause, chat_key TEXT NOT NULL,
  PRIMARY KEY(pause_id, chat_key)) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS playbook;
CREATE TABLE playbook(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL, description TEXT NOT NULL,
  instructions TEXT NOT NULL, keywords TEXT NOT NULL, priority REAL NOT NULL,
  required_tools TEXT NOT NULL,  -- JSON arrays, as keywords is
  enabled INTEGER NOT NULL DEFAULT 1, source TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  origin TEXT NOT NULL DEFAULT 'user', UNIQUE(agent_id, scope, name)) STRICT;
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

DROP TABLE IF EXISTS playbook_seed;
CREATE TABLE playbook_seed(  -- playbooks that an agent got once; a deleted one does not come back
  agent_id TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(agent_id, name)) STRICT, WITHOUT ROWID;
CREATE TRIGGER playbook_forgotten AFTER DELETE ON playbook_seed BEGIN
  DELETE FROM playbook_state WHERE agent_id = old.agent_id;
END;
CREATE TRIGGER playbook_given AFTER INSERT ON playbook_seed BEGIN
  REPLACE INTO playbook_state VALUES(new.agent_id, '', randomblob(16));
END;

DROP TABLE IF EXISTS playbook_state;
CREATE TABLE playbook_state(  -- a random value that changes with an agent's playbooks, for caches
  agent_id TEXT NOT NULL, scope TEXT NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY(agent_id, scope)) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS profile;
CREATE TABLE profile(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL, updated_at INTEGER NOT NULL,
  origins TEXT NOT NULL DEFAULT '{}',  -- JSON: by path, of the fields that others wrote
  PRIMARY KEY(agent_id, scope)) STRICT;

DROP TABLE IF EXISTS profile_change;
CREATE TABLE profile_change(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, path TEXT NOT NULL,
  before TEXT, after TEXT,  -- JSON; NULL: there was, or is, nothing
  source TEXT NOT NULL, at INTEGER NOT NULL, scope TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX profile_changes ON profile_change(agent_id, scope, id);

DROP TABLE IF EXISTS prompt_part;
CREATE TABLE prompt_part(digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO prompt_part VALUES('fa072d1768ed4e537fd88ebf664de0b4','{"tools":["get_time"],"texts":{}}');

DROP TABLE IF EXISTS request;
CREATE TABLE request(  -- an HTTP request: a message with more to it
  inbox_id INTEGER PRIMARY KEY REFERENCES inbox,
  id TEXT NOT NULL UNIQUE,  -- also the message id of its inbox row, on the channel `api`
  idem_key TEXT UNIQUE,  -- the client may repeat the request with this key
  digest TEXT NOT NULL,  -- SHA-256 of the request, so that a key cannot mean two of them
  previous_id TEXT,  -- the request that this one continues
  conversation TEXT,
  body TEXT NOT NULL,  -- of the extension http_api, which alone reads it
  outcome TEXT) STRICT;
CREATE INDEX request_conversation ON request(conversation) WHERE conversation IS NOT NULL;

DROP TABLE IF EXISTS sent_spans;
CREATE TABLE sent_spans(  -- one row: up to where a collector of traces has them, see `row_marks`
  id INTEGER PRIMARY KEY CHECK(id = 1), transition_id INTEGER NOT NULL,
  at INTEGER NOT NULL, read_at INTEGER NOT NULL) STRICT;

DROP TABLE IF EXISTS session;
CREATE TABLE session(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER,
  summary TEXT, summary_upto INTEGER NOT NULL DEFAULT 0,  -- the last message in the summary
  tokens INTEGER NOT NULL DEFAULT 0,  -- estimate for the messages after summary_upto
  facts_upto INTEGER NOT NULL DEFAULT 0,  -- the last message that facts were extracted from
  idle_since INTEGER,  -- NULL: no message since facts_upto
  summary_origin TEXT NOT NULL DEFAULT 'user', scope TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO session VALUES(1,'work','telegram/1/103/',1767225612000,NULL,NULL,0,0,0,NULL,'user','telegram:103');
INSERT INTO session VALUES(2,'work','telegram/1/104/',1767225613000,NULL,NULL,0,0,0,NULL,'user','telegram:104');
INSERT INTO session VALUES(3,'work','telegram/1/105/',1767225615000,NULL,NULL,0,0,0,NULL,'user','telegram:105');
INSERT INTO session VALUES(4,'work','telegram/1/106/',1767225621000,NULL,NULL,0,27,0,1767225626000,'user','telegram:106');
INSERT INTO session VALUES(5,'work','telegram/1/107/',1767225629000,NULL,NULL,0,9,0,1767225630000,'user','telegram:107');
INSERT INTO session VALUES(6,'work','telegram/1/108/',1767225632000,NULL,NULL,0,0,0,NULL,'user','telegram:108');
INSERT INTO session VALUES(7,'work','telegram/1/109/',1767225635000,NULL,NULL,0,8,0,1767225637000,'user','telegram:109');
INSERT INTO session VALUES(8,'work','telegram/1/110/',1767225639000,NULL,NULL,0,0,0,NULL,'user','telegram:110');
INSERT INTO session VALUES(9,'work','telegram/1/111/',1767225644000,NULL,NULL,0,0,0,NULL,'user','telegram:111');
CREATE UNIQUE INDEX one_open_session ON session(agent_id, chat_key) WHERE ended_at IS NULL;
CREATE INDEX session_idle ON session(agent_id, idle_since) WHERE idle_since IS NOT NULL;
CREATE INDEX session_size ON session(tokens) WHERE ended_at IS NULL AND tokens > 1000;

DROP TABLE IF EXISTS step;
CREATE TABLE step(  -- a model response, or a tool call
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('model','tool')),
  parent INTEGER,  -- the model response that made this call
  name TEXT NOT NULL, class TEXT NOT NULL, args TEXT, args_hash TEXT, idem_key TEXT UNIQUE,
  call_id TEXT,
  state TEXT NOT NULL CHECK(state IN('planned','intent','done','failed','unknown')),
  result TEXT, finish TEXT, usage TEXT, request_id TEXT, epoch INTEGER NOT NULL,
  t_plan INTEGER NOT NULL, t_intent INTEGER, t_end INTEGER,
  timing TEXT,  -- thinker.protocol.call_timing.CallTiming of a response
  PRIMARY KEY(turn_id, seq)) STRICT, WITHOUT ROWID;
INSERT INTO step VALUES('turn-closed',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null,"repaired":false}],"reasoning":null,"origin":"user","private":false,"mixed":false}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225622000,NULL,1767225622000,NULL);
INSERT INTO step VALUES('turn-closed',2,'tool',1,'get_time','pure','{}','ea82ad7c9c5833fb744f1943f31146c25412044c24ee49d135d78fbcfe47280f','turn-closed:2','c0','done','{"role":"tool","call_id":"c0","name":"get_time","content":"noon","is_error":false,"images":[],"origin":"operator","private":false,"fence":""}',NULL,NULL,NULL,1,1767225622000,1767225623000,1767225624000,NULL);
INSERT INTO step VALUES('turn-closed',3,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"It is noon.","tool_calls":[],"reasoning":null,"origin":"user","private":false,"mixed":false}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225625000,NULL,1767225625000,NULL);
INSERT INTO step VALUES('turn-intent',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null,"repaired":false},{"id":"c1","name":"pay","arguments":{},"malformed":null,"repaired":false},{"id":"c2","name":"send_mail","arguments":{},"malformed":null,"repaired":false},{"id":"c3","name":"send_mail","arguments":{},"malformed":null,"repaired":false}],"reasoning":null,"origin":"user","private":false,"mixed":false}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225616000,NULL,1767225616000,NULL);
INSERT INTO step VALUES('turn-intent',2,'tool',1,'get_time','pure','{}','ea82ad7c9c5833fb744f1943f31146c25412044c24ee49d135d78fbcfe47280f','turn-intent:2','c0','done','{"role":"tool","call_id":"c0","name":"get_time","content":"noon","is_error":false,"images":[],"origin":"operator","private":false,"fence":""}',NULL,NULL,NULL,1,1767225616000,1767225617000,1767225620000,NULL);
INSERT INTO step VALUES('turn-intent',3,'tool',1,'pay','keyed','{}','70f9a375eee2662cd6918e8bfaf0f8e69ed66ff6f3c82f67cf98cc1420856e63','turn-intent:3','c1','intent',NULL,NULL,NULL,NULL,1,1767225616000,1767225618000,NULL,NULL);
INSERT INTO step VALUES('turn-intent',4,'tool',1,'send_mail','non_idempotent','{}','0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','turn-intent:4','c2','intent',NULL,NULL,NULL,NULL,1,1767225616000,1767225619000,NULL,NULL);
INSERT INTO step VALUES('turn-intent',5,'tool',1,'send_mail','non_idempotent','{}','0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','turn-intent:5','c3','planned',NULL,NULL,NULL,NULL,1,1767225616000,NULL,NULL,NULL);
INSERT INTO step VALUES('turn-planned',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null,"repaired":false},{"id":"c1","name":"pay","arguments":{},"malformed":null,"repaired":false},{"id":"c2","name":"send_mail","arguments":{},"malformed":null,"repaired":false}],"reasoning":null,"origin":"user","private":false,"mixed":false}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225614000,NULL,1767225614000,NULL);
INSERT INTO step VALUES('turn-planned',2,'tool',1,'get_time','pure','{}','ea82ad7c9c5833fb744f1943f31146c25412044c24ee49d135d78fbcfe47280f','turn-planned:2','c0','planned',NULL,NULL,NULL,NULL,1,1767225614000,NULL,NULL,NULL);
INSERT INTO step VALUES('turn-planned',3,'tool',1,'pay','keyed','{}','70f9a375eee2662cd6918e8bfaf0f8e69ed66ff6f3c82f67cf98cc1420856e63','turn-planned:3','c1','planned',NULL,NULL,NULL,NULL,1,1767225614000,NULL,NULL,NULL);
INSERT INTO step VALUES('turn-planned',4,'tool',1,'send_mail','non_idempotent','{}','0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','turn-planned:4','c2','planned',NULL,NULL,NULL,NULL,1,1767225614000,NULL,NULL,NULL);
INSERT INTO step VALUES('turn-sending-edit',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"An edited answer.","tool_calls":[],"reasoning":null,"origin":"user","private":false,"mixed":false}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225636000,NULL,1767225636000,NULL);
INSERT INTO step VALUES('turn-waiting',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"send_mail","arguments":{},"malformed":null,"repaired":false}],"reasoning":null,"origin":"user","private":false,"mixed":false}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225645000,NULL,1767225645000,NULL);
INSERT INTO step VALUES('turn-waiting',2,'tool',1,'send_mail','non_idempotent','{}','0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','turn-waiting:2','c0','planned',NULL,NULL,NULL,NULL,1,1767225645000,NULL,NULL,NULL);
CREATE TRIGGER step_came AFTER INSERT ON step BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'step', new.seq, new.turn_id, new.state);
END;
CREATE TRIGGER step_moved AFTER UPDATE ON step BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state)
    VALUES(round(unixepoch('subsec') * 1000), 'step', new.seq, new.turn_id, new.state);
END;
CREATE INDEX step_unknown ON step(args_hash) WHERE state = 'unknown';

DROP TABLE IF EXISTS subagent;
CREATE TABLE subagent(
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL,  -- the agent that created it
  spec TEXT NOT NULL,  -- orchestrator.journal.turns.subagents.SubagentSpec
  created_at INTEGER NOT NULL,
  chat_key TEXT NOT NULL DEFAULT '',  -- the chat whose conversation it belongs to
  ended_at INTEGER) STRICT;
CREATE INDEX subagent_chat ON subagent(chat_key) WHERE ended_at IS NULL;

DROP TABLE IF EXISTS subagent_run;
CREATE TABLE subagent_run(  -- a task of a subagent: a message in its queue, for one call
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL,  -- the call, which cannot start two
  subagent_id TEXT NOT NULL REFERENCES subagent,
  inbox_id INTEGER NOT NULL UNIQUE REFERENCES inbox,
  wait INTEGER NOT NULL,  -- whether the call waits for the result
  result TEXT, failed INTEGER,
  PRIMARY KEY(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX subagent_run_open ON subagent_run(subagent_id) WHERE result IS NULL;

DROP TABLE IF EXISTS task;
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
CREATE INDEX task_made ON task(agent_id, scope, created_at) WHERE source = 'tool';
CREATE UNIQUE INDEX task_name ON task(agent_id, source, scope, name)
  WHERE state IN('active','disabled');

DROP TABLE IF EXISTS task_run;
CREATE TABLE task_run(  -- an instant at which a task was due
  task_id INTEGER NOT NULL REFERENCES task, scheduled_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN('due','missed','skipped','ran','failed')),
  inbox_id INTEGER UNIQUE REFERENCES inbox, note TEXT, result TEXT,
  created_at INTEGER NOT NULL, ended_at INTEGER,
  PRIMARY KEY(task_id, scheduled_at),
  CHECK(state IN('missed','skipped') OR inbox_id IS NOT NULL)) STRICT, WITHOUT ROWID;
CREATE INDEX task_run_open ON task_run(task_id) WHERE state = 'due';

DROP TABLE IF EXISTS tool_file;
CREATE TABLE tool_file(  -- files and pictures that tool calls returned
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL, part INTEGER NOT NULL,
  media_id TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(turn_id, seq, part)) STRICT, WITHOUT ROWID;
CREATE INDEX tool_file_media ON tool_file(media_id);

DROP TABLE IF EXISTS tool_list;
CREATE TABLE tool_list(  -- what each MCP server listed last, offered until it answers again
  server TEXT NOT NULL PRIMARY KEY,
  tools TEXT NOT NULL,  -- JSON: orchestrator.toolhost.wire.ServerTool
  at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS tool_pin;
CREATE TABLE tool_pin(  -- the tools of MCP servers as they were first seen or last approved
  server TEXT NOT NULL, tool TEXT NOT NULL,
  sha256 TEXT NOT NULL,  -- of the tool as its server listed it then
  changed TEXT,  -- of the tool as it is listed now; not NULL: blocked until approved
  by TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(server, tool)) STRICT, WITHOUT ROWID;

DROP TABLE IF EXISTS transition;
CREATE TABLE transition(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('inbox','turn','step','outbox')),
  number INTEGER NOT NULL,  -- inbox.id, outbox.id or step.seq; 0 for a turn
  turn_id TEXT, state TEXT NOT NULL, note TEXT) STRICT;
INSERT INTO transition VALUES(1,1767225601000,'inbox',1,NULL,'new',NULL);
INSERT INTO transition VALUES(2,1767225602000,'inbox',2,NULL,'cancelled','the chat is not paired');
INSERT INTO transition VALUES(3,1767225602000,'outbox',1,NULL,'queued',NULL);
INSERT INTO transition VALUES(4,1767225603000,'inbox',3,NULL,'new',NULL);
INSERT INTO transition VALUES(5,1767225604000,'inbox',4,NULL,'new',NULL);
INSERT INTO transition VALUES(6,1767225605000,'inbox',5,NULL,'new',NULL);
INSERT INTO transition VALUES(7,1767225606000,'inbox',6,NULL,'new',NULL);
INSERT INTO transition VALUES(8,1767225607000,'inbox',7,NULL,'new',NULL);
INSERT INTO transition VALUES(9,1767225608000,'inbox',8,NULL,'new',NULL);
INSERT INTO transition VALUES(10,1767225609000,'inbox',9,NULL,'new',NULL);
INSERT INTO transition VALUES(11,1767225610000,'inbox',10,NULL,'new',NULL);
INSERT INTO transition VALUES(12,1767225611000,'inbox',11,NULL,'new',NULL);
INSERT INTO transition VALUES(13,1767225612000,'turn',0,'turn-fresh','running','epoch 1');
INSERT INTO transition VALUES(14,1767225612000,'inbox',3,'turn-fresh','claimed',NULL);
INSERT INTO transition VALUES(15,1767225613000,'turn',0,'turn-planned','running','epoch 1');
INSERT INTO transition VALUES(16,1767225613000,'inbox',4,'turn-planned','claimed',NULL);
INSERT INTO transition VALUES(17,1767225614000,'step',1,'turn-planned','done',NULL);
INSERT INTO transition VALUES(18,1767225614000,'step',2,'turn-planned','planned',NULL);
INSERT INTO transition VALUES(19,1767225614000,'step',3,'turn-planned','planned',NULL);
INSERT INTO transition VALUES(20,1767225614000,'step',4,'turn-planned','planned',NULL);
INSERT INTO transition VALUES(21,1767225615000,'turn',0,'turn-intent','running','epoch 1');
INSERT INTO transition VALUES(22,1767225615000,'inbox',5,'turn-intent','claimed',NULL);
INSERT INTO transition VALUES(23,1767225616000,'step',1,'turn-intent','done',NULL);
INSERT INTO transition VALUES(24,1767225616000,'step',2,'turn-intent','planned',NULL);
INSERT INTO transition VALUES(25,1767225616000,'step',3,'turn-intent','planned',NULL);
INSERT INTO transition VALUES(26,1767225616000,'step',4,'turn-intent','planned',NULL);
INSERT INTO transition VALUES(27,1767225616000,'step',5,'turn-intent','planned',NULL);
INSERT INTO transition VALUES(28,1767225617000,'step',2,'turn-intent','intent',NULL);
INSERT INTO transition VALUES(29,1767225618000,'step',3,'turn-intent','intent',NULL);
INSERT INTO transition VALUES(30,1767225619000,'step',4,'turn-intent','intent',NULL);
INSERT INTO transition VALUES(31,1767225620000,'step',2,'turn-intent','done',NULL);
INSERT INTO transition VALUES(32,1767225621000,'turn',0,'turn-closed','running','epoch 1');
INSERT INTO transition VALUES(33,1767225621000,'inbox',6,'turn-closed','claimed',NULL);
INSERT INTO transition VALUES(34,1767225622000,'step',1,'turn-closed','done',NULL);
INSERT INTO transition VALUES(35,1767225622000,'step',2,'turn-closed','planned',NULL);
INSERT INTO transition VALUES(36,1767225623000,'step',2,'turn-closed','intent',NULL);
INSERT INTO transition VALUES(37,1767225624000,'step',2,'turn-closed','done',NULL);
INSERT INTO transition VALUES(38,1767225625000,'step',3,'turn-closed','done',NULL);
INSERT INTO transition VALUES(39,1767225626000,'turn',0,'turn-closed','replied',NULL);
INSERT INTO transition VALUES(40,1767225626000,'outbox',2,'turn-closed','queued',NULL);
INSERT INTO transition VALUES(41,1767225626000,'inbox',6,'turn-closed','done',NULL);
INSERT INTO transition VALUES(42,1767225627000,'outbox',2,'turn-closed','sending','attempt 1');
INSERT INTO transition VALUES(43,1767225628000,'outbox',2,'turn-closed','delivered',NULL);
INSERT INTO transition VALUES(44,1767225628000,'turn',0,'turn-closed','closed',NULL);
INSERT INTO transition VALUES(45,1767225629000,'turn',0,'turn-sending-direct','running','epoch 1');
INSERT INTO transition VALUES(46,1767225629000,'inbox',7,'turn-sending-direct','claimed',NULL);
INSERT INTO transition VALUES(47,1767225630000,'turn',0,'turn-sending-direct','replied',NULL);
INSERT INTO transition VALUES(48,1767225630000,'outbox',3,'turn-sending-direct','queued',NULL);
INSERT INTO transition VALUES(49,1767225630000,'outbox',4,'turn-sending-direct','queued',NULL);
INSERT INTO transition VALUES(50,1767225630000,'inbox',7,'turn-sending-direct','done',NULL);
INSERT INTO transition VALUES(51,1767225631000,'outbox',3,'turn-sending-direct','sending','attempt 1');
INSERT INTO transition VALUES(52,1767225632000,'turn',0,'turn-preview','running','epoch 1');
INSERT INTO transition VALUES(53,1767225632000,'inbox',8,'turn-preview','claimed',NULL);
INSERT INTO transition VALUES(54,1767225633000,'outbox',5,'turn-preview','queued',NULL);
INSERT INTO transition VALUES(55,1767225634000,'outbox',5,'turn-preview','ph_sending','attempt 1');
INSERT INTO transition VALUES(56,1767225634000,'outbox',5,'turn-preview','ph_sent',NULL);
INSERT INTO transition VALUES(57,1767225635000,'turn',0,'turn-sending-edit','running','epoch 1');
INSERT INTO transition VALUES(58,1767225635000,'inbox',9,'turn-sending-edit','claimed',NULL);
INSERT INTO transition VALUES(59,1767225636000,'step',1,'turn-sending-edit','done',NULL);
INSERT INTO transition VALUES(60,1767225637000,'turn',0,'turn-sending-edit','replied',NULL);
INSERT INTO transition VALUES(61,1767225637000,'outbox',6,'turn-sending-edit','queued',NULL);
INSERT INTO transition VALUES(62,1767225637000,'inbox',9,'turn-sending-edit','done',NULL);
INSERT INTO transition VALUES(63,1767225638000,'outbox',6,'turn-sending-edit','ph_sending','attempt 1');
INSERT INTO transition VALUES(64,1767225639000,'turn',0,'turn-dead','running','epoch 1');
INSERT INTO transition VALUES(65,1767225639000,'inbox',10,'turn-dead','claimed',NULL);
INSERT INTO transition VALUES(66,1767225639000,'inbox',10,'turn-dead','claimed','process death 1');
INSERT INTO transition VALUES(67,1767225639000,'inbox',10,'turn-dead','claimed','process death 2');
INSERT INTO transition VALUES(68,1767225639000,'inbox',10,'turn-dead','claimed','process death 3');
INSERT INTO transition VALUES(69,1767225640000,'turn',0,'turn-dead','dead','signal 11');
INSERT INTO transition VALUES(70,1767225640000,'outbox',7,'turn-dead','queued',NULL);
INSERT INTO transition VALUES(71,1767225640000,'inbox',10,'turn-dead','dead','signal 11');
INSERT INTO transition VALUES(72,1767225643000,'inbox',12,NULL,'new',NULL);
INSERT INTO transition VALUES(73,1767225644000,'turn',0,'turn-waiting','running','epoch 1');
INSERT INTO transition VALUES(74,1767225644000,'inbox',12,'turn-waiting','claimed',NULL);
INSERT INTO transition VALUES(75,1767225645000,'step',1,'turn-waiting','done',NULL);
INSERT INTO transition VALUES(76,1767225645000,'step',2,'turn-waiting','planned',NULL);
INSERT INTO transition VALUES(77,1767225646000,'turn',0,'turn-waiting','waiting',NULL);
CREATE INDEX transition_inbox ON transition(number) WHERE kind = 'inbox';
CREATE INDEX transition_loose ON transition(number)  -- for retention
  WHERE kind = 'outbox' AND turn_id IS NULL;
CREATE INDEX transition_turn ON transition(turn_id) WHERE turn_id IS NOT NULL;

DROP TABLE IF EXISTS turn;
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
  repaired INTEGER NOT NULL DEFAULT 0,  -- 1: the answer was made from a cut or invalid JSON text
  taint TEXT NOT NULL DEFAULT '{}',  -- orchestrator.journal.turns.taint.Taint
  scope TEXT NOT NULL DEFAULT '',
  ready_at INTEGER) STRICT;
INSERT INTO turn VALUES('turn-fresh','work','telegram/1/103/',1,'interactive','running',NULL,1,1767226512000,900000,'0.1.0',1767225612000,NULL,NULL,NULL,0,'{}','telegram:103',NULL);
INSERT INTO turn VALUES('turn-planned','work','telegram/1/104/',2,'interactive','running',NULL,1,1767226513000,900000,'0.1.0',1767225613000,NULL,NULL,NULL,0,'{}','telegram:104',NULL);
INSERT INTO turn VALUES('turn-intent','work','telegram/1/105/',3,'interactive','running',NULL,1,1767226515000,900000,'0.1.0',1767225615000,NULL,NULL,NULL,0,'{}','telegram:105',NULL);
INSERT INTO turn VALUES('turn-closed','work','telegram/1/106/',4,'interactive','closed',NULL,1,1767226521000,900000,'0.1.0',1767225621000,1767225626000,'done',NULL,0,'{}','telegram:106',NULL);
INSERT INTO turn VALUES('turn-sending-direct','work','telegram/1/107/',5,'interactive','replied',NULL,1,1767226529000,900000,'0.1.0',1767225629000,1767225630000,'done',NULL,0,'{}','telegram:107',NULL);
INSERT INTO turn VALUES('turn-preview','work','telegram/1/108/',6,'interactive','running',NULL,1,1767226532000,900000,'0.1.0',1767225632000,NULL,NULL,NULL,0,'{}','telegram:108',NULL);
INSERT INTO turn VALUES('turn-sending-edit','work','telegram/1/109/',7,'interactive','replied',NULL,1,1767226535000,900000,'0.1.0',1767225635000,1767225637000,'done',NULL,0,'{}','telegram:109',NULL);
INSERT INTO turn VALUES('turn-dead','work','telegram/1/110/',8,'interactive','dead',NULL,1,1767226539000,900000,'0.1.0',1767225639000,1767225640000,'dead','signal 11',0,'{}','telegram:110',NULL);
INSERT INTO turn VALUES('turn-waiting','work','telegram/1/111/',9,'interactive','waiting','approval',1,1767226544000,900000,'0.1.0',1767225644000,NULL,NULL,NULL,0,'{}','telegram:111',NULL);
CREATE UNIQUE INDEX one_open_turn ON turn(chat_key) WHERE state IN('running','waiting');
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
CREATE INDEX turn_session ON turn(session_id, started_at);

DROP TABLE IF EXISTS turn_prompt;
CREATE TABLE turn_prompt(  -- the prompts of a turn, and what they were made from
  turn_id TEXT NOT NULL REFERENCES turn, at INTEGER NOT NULL,
  body TEXT NOT NULL,  -- thinker.protocol.prompt_record.PromptRecord
  definition TEXT REFERENCES prompt_part, tools TEXT REFERENCES prompt_part,
  common TEXT REFERENCES prompt_part,  -- the long layers, which most prompts of an agent share
  history_first INTEGER, history_last INTEGER,  -- messages of the window that was sent
  PRIMARY KEY(turn_id, at)) STRICT, WITHOUT ROWID;
INSERT INTO turn_prompt VALUES('turn-closed',1767225622000,'{"layers":[{"name":"base","text":"You are kind."}],"changed":[]}',NULL,NULL,'fa072d1768ed4e537fd88ebf664de0b4',NULL,NULL);
INSERT INTO turn_prompt VALUES('turn-closed',1767225625000,'{"layers":[{"name":"base","text":"You are kind."}],"changed":[]}',NULL,NULL,'fa072d1768ed4e537fd88ebf664de0b4',NULL,NULL);
INSERT INTO turn_prompt VALUES('turn-intent',1767225616000,'{"layers":[{"name":"base","text":"You are kind."}],"changed":[]}',NULL,NULL,'fa072d1768ed4e537fd88ebf664de0b4',NULL,NULL);
INSERT INTO turn_prompt VALUES('turn-planned',1767225614000,'{"layers":[{"name":"base","text":"You are kind."}],"changed":[]}',NULL,NULL,'fa072d1768ed4e537fd88ebf664de0b4',NULL,NULL);
INSERT INTO turn_prompt VALUES('turn-sending-edit',1767225636000,'{"layers":[{"name":"base","text":"You are kind."}],"changed":[]}',NULL,NULL,'fa072d1768ed4e537fd88ebf664de0b4',NULL,NULL);
INSERT INTO turn_prompt VALUES('turn-waiting',1767225645000,'{"layers":[{"name":"base","text":"You are kind."}],"changed":[]}',NULL,NULL,'fa072d1768ed4e537fd88ebf664de0b4',NULL,NULL);
CREATE INDEX prompt_common ON turn_prompt(common) WHERE common IS NOT NULL;
CREATE INDEX prompt_definition ON turn_prompt(definition) WHERE definition IS NOT NULL;
CREATE INDEX prompt_tools ON turn_prompt(tools) WHERE tools IS NOT NULL;

DROP TABLE IF EXISTS web_invite;
CREATE TABLE web_invite(
  digest TEXT PRIMARY KEY, "user" TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  ends_at INTEGER NOT NULL, used_at INTEGER) STRICT;

DROP TABLE IF EXISTS web_session;
CREATE TABLE web_session(
  digest TEXT PRIMARY KEY, "user" TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  made_at INTEGER NOT NULL, last_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, label TEXT,
  made_by TEXT NOT NULL DEFAULT 'code') STRICT;

DROP VIEW IF EXISTS said;
CREATE VIEW said AS SELECT id, session_id, at, role, text FROM (
  SELECT id, session_id, at,
    CASE WHEN json_valid(body) THEN body ->> 'role' END AS role,
    CASE WHEN json_valid(body) THEN body ->> 'content' END AS text FROM message)
  WHERE role IN('user','assistant') AND text <> '';

pragma user_version=21;
pragma application_id=1914775330;

COMMIT TRANSACTION;

PRAGMA writable_schema=OFF;

BEGIN;
CREATE TABLE no_such_table(x,y,z);
ROLLBACK;
