-- The journal (reference/reliability.md §4.10). Times are milliseconds since the epoch.

CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT;  -- epoch, clean_shutdown

CREATE TABLE channel_offset(
  channel TEXT NOT NULL, bot_id TEXT NOT NULL, next INTEGER NOT NULL,
  PRIMARY KEY(channel, bot_id)) STRICT, WITHOUT ROWID;

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
CREATE INDEX inbox_new ON inbox(chat_key, id) WHERE state = 'new';
CREATE INDEX inbox_turn ON inbox(turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE session(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER,
  summary TEXT, summary_upto INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE UNIQUE INDEX one_open_session ON session(agent_id, chat_key) WHERE ended_at IS NULL;

CREATE TABLE message(
  id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session, turn_id TEXT,
  body TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX message_session ON message(session_id, id);

CREATE TABLE turn(
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  session_id INTEGER NOT NULL REFERENCES session, recipe TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK(state IN('running','waiting','replied','closed','failed','cancelled','dead')),
  wait TEXT, epoch INTEGER NOT NULL, deadline INTEGER NOT NULL,
  allowed INTEGER NOT NULL, code_ver TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER, stop_reason TEXT, error TEXT) STRICT;
CREATE UNIQUE INDEX one_open_turn ON turn(chat_key) WHERE state IN('running','waiting');
CREATE INDEX turn_unclosed ON turn(state) WHERE state IN('running','waiting','replied');

CREATE TABLE turn_prompt(
  turn_id TEXT NOT NULL REFERENCES turn, at INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY(turn_id, at)) STRICT, WITHOUT ROWID;

CREATE TABLE step(
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('model','tool')), parent INTEGER,
  name TEXT NOT NULL, class TEXT NOT NULL, args TEXT, args_hash TEXT, idem_key TEXT UNIQUE,
  call_id TEXT,
  state TEXT NOT NULL CHECK(state IN('planned','intent','done','failed','unknown')),
  result TEXT, finish TEXT, usage TEXT, request_id TEXT, epoch INTEGER NOT NULL,
  t_plan INTEGER NOT NULL, t_intent INTEGER, t_end INTEGER,
  PRIMARY KEY(turn_id, seq)) STRICT, WITHOUT ROWID;

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
CREATE UNIQUE INDEX outbox_part ON outbox(turn_id, part) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_open ON outbox(chat_key, id)
  WHERE state NOT IN('delivered','unknown','abandoned','failed_permanent');

CREATE TABLE fact(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, fact TEXT NOT NULL, category TEXT NOT NULL,
  source TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 1, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX fact_once ON fact(agent_id, fact);
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

CREATE TABLE profile(agent_id TEXT PRIMARY KEY, body TEXT NOT NULL, updated_at INTEGER NOT NULL)
  STRICT;

CREATE TABLE pairing(
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  code TEXT, state TEXT NOT NULL CHECK(state IN('pending','approved','revoked')),
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decided_at INTEGER,
  PRIMARY KEY(channel, chat_id)) STRICT;

CREATE TABLE audit(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL,
  object TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
