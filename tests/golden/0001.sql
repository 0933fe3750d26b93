PRAGMA page_size=4096;

PRAGMA writable_schema=ON;

BEGIN TRANSACTION;

DROP TABLE IF EXISTS audit;
CREATE TABLE audit(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL,
  object TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
INSERT INTO audit VALUES(1,1767225602000,'admission','refused: the chat is not paired','inbox 2','','b084fb1e32d5d456eacb2a74e80fb7eee3c599fd5aad25c9127d3ddbbab7b9b5');
INSERT INTO audit VALUES(2,1767225639000,'dispatcher','dead letter: signal 11','turn turn-dead','b084fb1e32d5d456eacb2a74e80fb7eee3c599fd5aad25c9127d3ddbbab7b9b5','865b54644b4bf097e1a161896ad18f0f219181050ca4ab413839b8ec8d57498c');

DROP TABLE IF EXISTS channel_offset;
CREATE TABLE channel_offset(
  channel TEXT NOT NULL, bot_id TEXT NOT NULL, next INTEGER NOT NULL,
  PRIMARY KEY(channel, bot_id)) STRICT, WITHOUT ROWID;
INSERT INTO channel_offset VALUES('telegram','1',12);

DROP TABLE IF EXISTS fact;
CREATE TABLE fact(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, fact TEXT NOT NULL, category TEXT NOT NULL,
  source TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 1, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
INSERT INTO fact VALUES(1,'work','the user likes green tea','preference','turn-closed',1.0,1767225640000,1767225640000);
CREATE TRIGGER fact_added AFTER INSERT ON fact BEGIN
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
CREATE TRIGGER fact_changed AFTER UPDATE OF fact ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_words(rowid, fact) VALUES(new.id, new.fact);
  INSERT INTO fact_grams(rowid, fact) VALUES(new.id, new.fact);
END;
CREATE UNIQUE INDEX fact_once ON fact(agent_id, fact);
CREATE TRIGGER fact_removed AFTER DELETE ON fact BEGIN
  INSERT INTO fact_words(fact_words, rowid, fact) VALUES('delete', old.id, old.fact);
  INSERT INTO fact_grams(fact_grams, rowid, fact) VALUES('delete', old.id, old.fact);
END;

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

DROP TABLE IF EXISTS inbox;
CREATE TABLE inbox(
  id INTEGER PRIMARY KEY, channel TEXT NOT NULL, bot_id TEXT NOT NULL, update_id INTEGER,
  chat_id TEXT NOT NULL, thread_id TEXT NOT NULL DEFAULT '', chat_key TEXT NOT NULL,
  message_id TEXT NOT NULL, edit_date INTEGER NOT NULL DEFAULT 0, kind TEXT NOT NULL,
  sender_id TEXT NOT NULL, sender_name TEXT NOT NULL DEFAULT '', private INTEGER NOT NULL,
  target TEXT, text TEXT NOT NULL, agent_id TEXT, turn_id TEXT,
  state TEXT NOT NULL CHECK(state IN('new','claimed','done','dead','cancelled')),
  claims INTEGER NOT NULL DEFAULT 0, received_at INTEGER NOT NULL, ended_at INTEGER, error TEXT,
  UNIQUE(channel, bot_id, update_id),
  UNIQUE(channel, bot_id, chat_id, message_id, edit_date, kind)) STRICT;
INSERT INTO inbox VALUES(1,'telegram','1',1,'101','','telegram/1/101/','1',0,'message','101','Ann',1,NULL,'nobody has looked at this yet',NULL,NULL,'new',0,1767225601000,NULL,NULL);
INSERT INTO inbox VALUES(2,'telegram','1',2,'102','','telegram/1/102/','2',0,'message','102','Ann',1,NULL,'',NULL,NULL,'cancelled',0,1767225602000,1767225602000,'the chat is not paired');
INSERT INTO inbox VALUES(3,'telegram','1',3,'103','','telegram/1/103/','3',0,'message','103','Ann',1,NULL,'question 3','work','turn-fresh','claimed',0,1767225603000,NULL,NULL);
INSERT INTO inbox VALUES(4,'telegram','1',4,'104','','telegram/1/104/','4',0,'message','104','Ann',1,NULL,'question 4','work','turn-planned','claimed',0,1767225604000,NULL,NULL);
INSERT INTO inbox VALUES(5,'telegram','1',5,'105','','telegram/1/105/','5',0,'message','105','Ann',1,NULL,'question 5','work','turn-intent','claimed',0,1767225605000,NULL,NULL);
INSERT INTO inbox VALUES(6,'telegram','1',6,'106','','telegram/1/106/','6',0,'message','106','Ann',1,NULL,'question 6','work','turn-closed','done',0,1767225606000,1767225626000,NULL);
INSERT INTO inbox VALUES(7,'telegram','1',7,'107','','telegram/1/107/','7',0,'message','107','Ann',1,NULL,'question 7','work','turn-sending-direct','done',0,1767225607000,1767225630000,NULL);
INSERT INTO inbox VALUES(8,'telegram','1',8,'108','','telegram/1/108/','8',0,'message','108','Ann',1,NULL,'question 8','work','turn-preview','claimed',0,1767225608000,NULL,NULL);
INSERT INTO inbox VALUES(9,'telegram','1',9,'109','','telegram/1/109/','9',0,'message','109','Ann',1,NULL,'question 9','work','turn-sending-edit','done',0,1767225609000,1767225636000,NULL);
INSERT INTO inbox VALUES(10,'telegram','1',10,'110','','telegram/1/110/','10',0,'message','110','Ann',1,NULL,'question 10','work','turn-dead','dead',3,1767225610000,1767225639000,'signal 11');
INSERT INTO inbox VALUES(11,'telegram','1',11,'104','','telegram/1/104/','11',0,'message','104','Ann',1,NULL,'a second question, in line behind an open turn',NULL,NULL,'new',0,1767225611000,NULL,NULL);
CREATE INDEX inbox_new ON inbox(chat_key, id) WHERE state = 'new';
CREATE INDEX inbox_turn ON inbox(turn_id) WHERE turn_id IS NOT NULL;

DROP TABLE IF EXISTS message;
CREATE TABLE message(
  id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session, turn_id TEXT,
  body TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
INSERT INTO message VALUES(1,4,'turn-closed','{"role":"user","content":"question 6","images":[]}',1767225626000);
INSERT INTO message VALUES(2,4,'turn-closed','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null}],"reasoning":null}',1767225626000);
INSERT INTO message VALUES(3,4,'turn-closed','{"role":"tool","call_id":"c0","name":"get_time","content":"noon","is_error":false}',1767225626000);
INSERT INTO message VALUES(4,4,'turn-closed','{"role":"assistant","content":"It is noon.","tool_calls":[],"reasoning":null}',1767225626000);
INSERT INTO message VALUES(5,5,'turn-sending-direct','{"role":"user","content":"question 7","images":[]}',1767225630000);
INSERT INTO message VALUES(6,5,'turn-sending-direct','{"role":"assistant","content":"first part\nsecond part","tool_calls":[],"reasoning":null}',1767225630000);
INSERT INTO message VALUES(7,7,'turn-sending-edit','{"role":"user","content":"question 9","images":[]}',1767225636000);
INSERT INTO message VALUES(8,7,'turn-sending-edit','{"role":"assistant","content":"An edited answer.","tool_calls":[],"reasoning":null}',1767225636000);
CREATE INDEX message_session ON message(session_id, id);

DROP TABLE IF EXISTS meta;
CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT;
INSERT INTO meta VALUES('epoch','1');

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
  ph_id TEXT, msg_id TEXT, attempt INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0, error TEXT,
  created_at INTEGER NOT NULL, t_sending INTEGER, ended_at INTEGER) STRICT;
INSERT INTO outbox VALUES(1,NULL,0,'telegram','1','102','','telegram/1/102/','direct','Who are you?',0,NULL,1,'queued',NULL,NULL,0,0,NULL,1767225602000,NULL,NULL);
INSERT INTO outbox VALUES(2,'turn-closed',0,'telegram','1','106','','telegram/1/106/','direct','It is noon.',1,NULL,1,'delivered',NULL,'901',1,0,NULL,1767225626000,1767225627000,1767225628000);
INSERT INTO outbox VALUES(3,'turn-sending-direct',0,'telegram','1','107','','telegram/1/107/','direct','first part',1,NULL,1,'sending',NULL,NULL,1,0,NULL,1767225630000,1767225631000,NULL);
INSERT INTO outbox VALUES(4,'turn-sending-direct',1,'telegram','1','107','','telegram/1/107/','direct','second part',1,NULL,1,'queued',NULL,NULL,0,0,NULL,1767225630000,NULL,NULL);
INSERT INTO outbox VALUES(5,'turn-preview',0,'telegram','1','108','','telegram/1/108/','edit','I am thinking about …',1,NULL,0,'ph_sent','902',NULL,1,0,NULL,1767225633000,1767225633000,NULL);
INSERT INTO outbox VALUES(6,'turn-sending-edit',0,'telegram','1','109','','telegram/1/109/','edit','An edited answer.',1,NULL,1,'ph_sending',NULL,NULL,1,0,NULL,1767225636000,1767225637000,NULL);
INSERT INTO outbox VALUES(7,'turn-dead',0,'telegram','1','110','','telegram/1/110/','direct','I gave it up.',0,NULL,1,'queued',NULL,NULL,0,0,NULL,1767225639000,NULL,NULL);
CREATE INDEX outbox_open ON outbox(chat_key, id)
  WHERE state NOT IN('delivered','unknown','abandoned','failed_permanent');
CREATE UNIQUE INDEX outbox_part ON outbox(turn_id, part) WHERE turn_id IS NOT NULL;

DROP TABLE IF EXISTS pairing;
CREATE TABLE pairing(
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  code TEXT, state TEXT NOT NULL CHECK(state IN('pending','approved','revoked')),
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decided_at INTEGER,
  PRIMARY KEY(channel, chat_id)) STRICT;
INSERT INTO pairing VALUES('telegram','102','Ann','AB12','pending',1767225641000,1767229241000,NULL);

DROP TABLE IF EXISTS profile;
CREATE TABLE profile(agent_id TEXT PRIMARY KEY, body TEXT NOT NULL, updated_at INTEGER NOT NULL)
  STRICT;

DROP TABLE IF EXISTS session;
CREATE TABLE session(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER,
  summary TEXT, summary_upto INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO session VALUES(1,'work','telegram/1/103/',1767225612000,NULL,NULL,0);
INSERT INTO session VALUES(2,'work','telegram/1/104/',1767225613000,NULL,NULL,0);
INSERT INTO session VALUES(3,'work','telegram/1/105/',1767225615000,NULL,NULL,0);
INSERT INTO session VALUES(4,'work','telegram/1/106/',1767225621000,NULL,NULL,0);
INSERT INTO session VALUES(5,'work','telegram/1/107/',1767225629000,NULL,NULL,0);
INSERT INTO session VALUES(6,'work','telegram/1/108/',1767225632000,NULL,NULL,0);
INSERT INTO session VALUES(7,'work','telegram/1/109/',1767225634000,NULL,NULL,0);
INSERT INTO session VALUES(8,'work','telegram/1/110/',1767225638000,NULL,NULL,0);
CREATE UNIQUE INDEX one_open_session ON session(agent_id, chat_key) WHERE ended_at IS NULL;

DROP TABLE IF EXISTS step;
CREATE TABLE step(
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('model','tool')), parent INTEGER,
  name TEXT NOT NULL, class TEXT NOT NULL, args TEXT, args_hash TEXT, idem_key TEXT UNIQUE,
  call_id TEXT,
  state TEXT NOT NULL CHECK(state IN('planned','intent','done','failed','unknown')),
  result TEXT, finish TEXT, usage TEXT, request_id TEXT, epoch INTEGER NOT NULL,
  t_plan INTEGER NOT NULL, t_intent INTEGER, t_end INTEGER,
  PRIMARY KEY(turn_id, seq)) STRICT, WITHOUT ROWID;
INSERT INTO step VALUES('turn-closed',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null}],"reasoning":null}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225622000,NULL,1767225622000);
INSERT INTO step VALUES('turn-closed',2,'tool',1,'get_time','pure','{}','ea82ad7c9c5833fb744f1943f31146c25412044c24ee49d135d78fbcfe47280f','turn-closed:2','c0','done','{"role":"tool","call_id":"c0","name":"get_time","content":"noon","is_error":false}',NULL,NULL,NULL,1,1767225622000,1767225623000,1767225624000);
INSERT INTO step VALUES('turn-closed',3,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"It is noon.","tool_calls":[],"reasoning":null}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225625000,NULL,1767225625000);
INSERT INTO step VALUES('turn-intent',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null},{"id":"c1","name":"pay","arguments":{},"malformed":null},{"id":"c2","name":"send_mail","arguments":{},"malformed":null},{"id":"c3","name":"send_mail","arguments":{},"malformed":null}],"reasoning":null}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225616000,NULL,1767225616000);
INSERT INTO step VALUES('turn-intent',2,'tool',1,'get_time','pure','{}','ea82ad7c9c5833fb744f1943f31146c25412044c24ee49d135d78fbcfe47280f','turn-intent:2','c0','done','{"role":"tool","call_id":"c0","name":"get_time","content":"noon","is_error":false}',NULL,NULL,NULL,1,1767225616000,1767225617000,1767225620000);
INSERT INTO step VALUES('turn-intent',3,'tool',1,'pay','keyed','{}','70f9a375eee2662cd6918e8bfaf0f8e69ed66ff6f3c82f67cf98cc1420856e63','turn-intent:3','c1','intent',NULL,NULL,NULL,NULL,1,1767225616000,1767225618000,NULL);
INSERT INTO step VALUES('turn-intent',4,'tool',1,'send_mail','non_idempotent','{}','0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','turn-intent:4','c2','intent',NULL,NULL,NULL,NULL,1,1767225616000,1767225619000,NULL);
INSERT INTO step VALUES('turn-intent',5,'tool',1,'send_mail','non_idempotent','{}','0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','turn-intent:5','c3','planned',NULL,NULL,NULL,NULL,1,1767225616000,NULL,NULL);
INSERT INTO step VALUES('turn-planned',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"get_time","arguments":{},"malformed":null},{"id":"c1","name":"pay","arguments":{},"malformed":null},{"id":"c2","name":"send_mail","arguments":{},"malformed":null}],"reasoning":null}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225614000,NULL,1767225614000);
INSERT INTO step VALUES('turn-planned',2,'tool',1,'get_time','pure','{}','ea82ad7c9c5833fb744f1943f31146c25412044c24ee49d135d78fbcfe47280f','turn-planned:2','c0','planned',NULL,NULL,NULL,NULL,1,1767225614000,NULL,NULL);
INSERT INTO step VALUES('turn-planned',3,'tool',1,'pay','keyed','{}','70f9a375eee2662cd6918e8bfaf0f8e69ed66ff6f3c82f67cf98cc1420856e63','turn-planned:3','c1','planned',NULL,NULL,NULL,NULL,1,1767225614000,NULL,NULL);
INSERT INTO step VALUES('turn-planned',4,'tool',1,'send_mail','non_idempotent','{}','0abc0209f278814a0cd30f8c900a9ebc545978581e05d9a2c169540df3e8cd6a','turn-planned:4','c2','planned',NULL,NULL,NULL,NULL,1,1767225614000,NULL,NULL);
INSERT INTO step VALUES('turn-sending-edit',1,'model',NULL,'demo/demo','pure',NULL,NULL,NULL,NULL,'done','{"role":"assistant","content":"An edited answer.","tool_calls":[],"reasoning":null}','done','{"prompt":100,"completion":10,"cached":0,"cache_written":0}','req_1',1,1767225635000,NULL,1767225635000);

DROP TABLE IF EXISTS turn;
CREATE TABLE turn(
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  session_id INTEGER NOT NULL REFERENCES session, recipe TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK(state IN('running','waiting','replied','closed','failed','cancelled','dead')),
  wait TEXT, epoch INTEGER NOT NULL, deadline INTEGER NOT NULL,
  allowed INTEGER NOT NULL, code_ver TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER, stop_reason TEXT, error TEXT) STRICT;
INSERT INTO turn VALUES('turn-fresh','work','telegram/1/103/',1,'interactive','running',NULL,1,1767226512000,900000,'0.1.0',1767225612000,NULL,NULL,NULL);
INSERT INTO turn VALUES('turn-planned','work','telegram/1/104/',2,'interactive','running',NULL,1,1767226513000,900000,'0.1.0',1767225613000,NULL,NULL,NULL);
INSERT INTO turn VALUES('turn-intent','work','telegram/1/105/',3,'interactive','running',NULL,1,1767226515000,900000,'0.1.0',1767225615000,NULL,NULL,NULL);
INSERT INTO turn VALUES('turn-closed','work','telegram/1/106/',4,'interactive','closed',NULL,1,1767226521000,900000,'0.1.0',1767225621000,1767225628000,'done',NULL);
INSERT INTO turn VALUES('turn-sending-direct','work','telegram/1/107/',5,'interactive','replied',NULL,1,1767226529000,900000,'0.1.0',1767225629000,1767225630000,'done',NULL);
INSERT INTO turn VALUES('turn-preview','work','telegram/1/108/',6,'interactive','running',NULL,1,1767226532000,900000,'0.1.0',1767225632000,NULL,NULL,NULL);
INSERT INTO turn VALUES('turn-sending-edit','work','telegram/1/109/',7,'interactive','replied',NULL,1,1767226534000,900000,'0.1.0',1767225634000,1767225636000,'done',NULL);
INSERT INTO turn VALUES('turn-dead','work','telegram/1/110/',8,'interactive','dead',NULL,1,1767226538000,900000,'0.1.0',1767225638000,1767225639000,'dead','signal 11');
CREATE UNIQUE INDEX one_open_turn ON turn(chat_key) WHERE state IN('running','waiting');
CREATE INDEX turn_unclosed ON turn(state) WHERE state IN('running','waiting','replied');

DROP TABLE IF EXISTS turn_prompt;
CREATE TABLE turn_prompt(
  turn_id TEXT NOT NULL REFERENCES turn, at INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY(turn_id, at)) STRICT, WITHOUT ROWID;
INSERT INTO turn_prompt VALUES('turn-closed',1767225622000,'{"layers":[{"name":"base","text":"You are kind."}],"tools":["get_time"]}');
INSERT INTO turn_prompt VALUES('turn-closed',1767225625000,'{"layers":[{"name":"base","text":"You are kind."}],"tools":["get_time"]}');
INSERT INTO turn_prompt VALUES('turn-intent',1767225616000,'{"layers":[{"name":"base","text":"You are kind."}],"tools":["get_time"]}');
INSERT INTO turn_prompt VALUES('turn-planned',1767225614000,'{"layers":[{"name":"base","text":"You are kind."}],"tools":["get_time"]}');
INSERT INTO turn_prompt VALUES('turn-sending-edit',1767225635000,'{"layers":[{"name":"base","text":"You are kind."}],"tools":["get_time"]}');

pragma user_version=1;

COMMIT TRANSACTION;

PRAGMA writable_schema=OFF;

BEGIN;
CREATE TABLE no_such_table(x,y,z);
ROLLBACK;
