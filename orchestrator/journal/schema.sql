-- The tables and indexes of the journal. SQLite takes this text as it is, and PostgreSQL with its
-- own names of the types. What else a store has is in a file of its own: `sqlite.sql` here, and
-- `postgresql.sql` in the extension.
--
-- Every time is in milliseconds since the Unix epoch; a column that is named after an event
-- (`ended_at`, `t_intent`) is NULL until that event. Columns with JSON name the Python type that
-- reads them. `origin` is who wrote a text: thinker.protocol.messages.Origin. `scope` is whose
-- memory a row is: `channel:chat_id` (`api:user` for the HTTP API), or '' for every chat.

-- Daemon ------------------------------------------------------------------------------------------

CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT;  -- `epoch`, `clean_shutdown`

CREATE TABLE audit(  -- refusals, approvals, deletions: each has the hash of the one before it
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL,
  object TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT;

-- Messages in -------------------------------------------------------------------------------------

CREATE TABLE channel_offset(  -- where a channel goes on: a number, or a platform's own mark
  channel TEXT NOT NULL, bot_id TEXT NOT NULL, next ANY NOT NULL,
  PRIMARY KEY(channel, bot_id)) STRICT, WITHOUT ROWID;

CREATE TABLE chat_move(  -- groups that became supergroups; every other row has the first id
  channel TEXT NOT NULL, old_id TEXT NOT NULL, new_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(channel, new_id)) STRICT, WITHOUT ROWID;

CREATE TABLE pairing(  -- chats that may, or want to, talk to the agents
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  code TEXT, state TEXT NOT NULL CHECK(state IN('pending','approved','revoked')),
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decided_at INTEGER,
  bot_id TEXT NOT NULL DEFAULT '',  -- the bot that was written to
  sender_id TEXT NOT NULL DEFAULT '',  -- the person who asked, whose id may differ from the chat's
  role TEXT CHECK(role IN('talk','approve','operate')),  -- NULL: from before roles, operate
  PRIMARY KEY(channel, chat_id)) STRICT;

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
  quote TEXT,  -- what the message answers: thinker.protocol.messages.QuotedMessage
  UNIQUE(channel, bot_id, update_id),
  UNIQUE(channel, bot_id, chat_id, message_id, edit_date, kind)) STRICT;
CREATE INDEX inbox_new ON inbox(chat_key, id) WHERE state = 'new';
CREATE INDEX inbox_turn ON inbox(turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_loose ON inbox(ended_at)  -- for retention
  WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE INDEX inbox_local ON inbox(message_id) WHERE update_id IS NULL;
CREATE INDEX inbox_unanswered ON inbox(state) WHERE state IN('dead','cancelled');
CREATE INDEX inbox_dead ON inbox(id) WHERE state = 'dead';  -- each screen of the page counts them
CREATE INDEX inbox_of_agent ON inbox(agent_id, channel, chat_id) WHERE agent_id IS NOT NULL;
CREATE INDEX inbox_of_chat ON inbox(chat_id, channel, id);  -- the newest of a chat
CREATE INDEX inbox_album ON inbox(chat_key, album) WHERE album IS NOT NULL;

CREATE TABLE held(  -- what a chat wrote before it was paired: the texts of its refused messages
  inbox_id INTEGER PRIMARY KEY REFERENCES inbox,
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX held_chat ON held(channel, chat_id);

CREATE TABLE media(  -- the bytes of each picture or file, once
  id TEXT PRIMARY KEY,  -- SHA-256 of the bytes
  media_type TEXT NOT NULL, data BLOB NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX media_age ON media(at);

CREATE TABLE attachment(
  inbox_id INTEGER NOT NULL REFERENCES inbox, part INTEGER NOT NULL,
  handle TEXT NOT NULL,  -- what the channel downloads it by
  about TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('wanted','kept','given up')),
  media_id TEXT, media_type TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '',
  body TEXT,  -- how the text of a document begins, as models read it
  voice INTEGER NOT NULL DEFAULT 0,  -- 1: the person says it, so that its text is the message's
  PRIMARY KEY(inbox_id, part)) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_wanted ON attachment(inbox_id) WHERE state = 'wanted';
CREATE INDEX attachment_media ON attachment(media_id) WHERE media_id IS NOT NULL;

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
  body TEXT NOT NULL,  -- of the extension http_api, which alone reads it
  outcome TEXT) STRICT;  -- the same
CREATE INDEX request_conversation ON request(conversation) WHERE conversation IS NOT NULL;

-- Conversations -----------------------------------------------------------------------------------

CREATE TABLE session(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, chat_key TEXT NOT NULL,
  started_at INTEGER NOT NULL, ended_at INTEGER,
  summary TEXT, summary_upto INTEGER NOT NULL DEFAULT 0,  -- the last message in the summary
  tokens INTEGER NOT NULL DEFAULT 0,  -- estimate for the messages after summary_upto
  facts_upto INTEGER NOT NULL DEFAULT 0,  -- the last message that facts were extracted from
  idle_since INTEGER,  -- NULL: no message since facts_upto
  summary_origin TEXT NOT NULL DEFAULT 'user', scope TEXT NOT NULL DEFAULT '',
  -- It goes on from there: the messages of that session up to this one come before its own.
  parent_id INTEGER REFERENCES session, parent_upto INTEGER) STRICT;
CREATE INDEX session_parent ON session(parent_id) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX one_open_session ON session(agent_id, chat_key) WHERE ended_at IS NULL;
CREATE INDEX session_agent ON session(agent_id);
CREATE INDEX session_idle ON session(agent_id, idle_since) WHERE idle_since IS NOT NULL;
CREATE INDEX session_size ON session(tokens) WHERE ended_at IS NULL AND tokens > 1000;

CREATE TABLE message(
  id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session, turn_id TEXT,
  body TEXT NOT NULL,  -- thinker.protocol.messages.Message
  at INTEGER NOT NULL) STRICT;
CREATE INDEX message_session ON message(session_id, id);

CREATE TABLE search_scope(  -- numbers the memory scopes of each agent for the index of messages
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, scope TEXT NOT NULL) STRICT;
CREATE INDEX search_scope_name ON search_scope(agent_id, scope);

CREATE TABLE conversation(  -- made by a client of the Responses API
  id TEXT PRIMARY KEY, created_at INTEGER NOT NULL,
  metadata TEXT NOT NULL) STRICT, WITHOUT ROWID;  -- the client's own, an object

CREATE TABLE conversation_item(
  conversation_id TEXT NOT NULL REFERENCES conversation, seq INTEGER NOT NULL,
  message TEXT NOT NULL,  -- as the worker has it
  request_id TEXT,  -- the request that took it in; NULL while it waits for one
  PRIMARY KEY(conversation_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_item_request ON conversation_item(request_id)
  WHERE request_id IS NOT NULL;

-- Turns -------------------------------------------------------------------------------------------

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
  ready_at INTEGER,
  receipt TEXT) STRICT;  -- JSON: what the answer claims to have done; NULL: nothing  -- the worker took it
CREATE UNIQUE INDEX one_open_turn ON turn(chat_key) WHERE state IN('running','waiting');
CREATE INDEX turn_session ON turn(session_id, started_at);
CREATE INDEX turn_name ON turn(substr(id, length(id) - 7));  -- as people name it

CREATE TABLE prompt_part(digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;

CREATE TABLE turn_prompt(  -- the prompts of a turn, and what they were made from
  turn_id TEXT NOT NULL REFERENCES turn, at INTEGER NOT NULL,
  body TEXT NOT NULL,  -- thinker.protocol.prompt_record.PromptRecord
  definition TEXT REFERENCES prompt_part, tools TEXT REFERENCES prompt_part,
  common TEXT REFERENCES prompt_part,  -- the long layers, which most prompts of an agent share
  history_first INTEGER, history_last INTEGER,  -- messages of the window that was sent
  agent_id TEXT,  -- the agent of agents.json whose prompt it is
  settings TEXT REFERENCES prompt_part,  -- of its worker: ThinkerSettings.dump_for_record
  PRIMARY KEY(turn_id, at)) STRICT, WITHOUT ROWID;
CREATE INDEX prompt_definition ON turn_prompt(definition) WHERE definition IS NOT NULL;
CREATE INDEX prompt_tools ON turn_prompt(tools) WHERE tools IS NOT NULL;
CREATE INDEX prompt_common ON turn_prompt(common) WHERE common IS NOT NULL;
CREATE INDEX prompt_settings ON turn_prompt(settings) WHERE settings IS NOT NULL;

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
  answered_by TEXT,  -- the call `turn:seq` of an earlier line whose result was used instead
  PRIMARY KEY(turn_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX step_answered ON step(answered_by) WHERE answered_by IS NOT NULL;
-- A subagent may repeat a call of its parent; the hash finds both.
CREATE INDEX step_unknown ON step(args_hash) WHERE state = 'unknown';

CREATE TABLE tool_file(  -- files and pictures that tool calls returned
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL, part INTEGER NOT NULL,
  media_id TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(turn_id, seq, part)) STRICT, WITHOUT ROWID;
CREATE INDEX tool_file_media ON tool_file(media_id);

CREATE TABLE degradation(  -- what a turn did without: thinker.protocol.degradations.Degradation
  turn_id TEXT NOT NULL REFERENCES turn, kind TEXT NOT NULL, subject TEXT NOT NULL,
  what TEXT NOT NULL, words TEXT NOT NULL, agent_id TEXT NOT NULL, at INTEGER NOT NULL,
  seq INTEGER,  -- the model response; NULL: the turn failed
  PRIMARY KEY(turn_id, kind, subject)) STRICT, WITHOUT ROWID;
CREATE INDEX degradation_agent ON degradation(agent_id, at);

CREATE TABLE approval(  -- an operator's decision about one call; used at most once (invariant 18)
  id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE,
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, args_hash TEXT NOT NULL, reason TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('pending','granted','denied','used')),
  asked_at INTEGER NOT NULL, expires INTEGER NOT NULL, decided_at INTEGER, by_user TEXT,
  note TEXT,  -- why it was denied
  asked_with INTEGER REFERENCES approval,  -- whose question is about this call too; NULL: its own
  sources TEXT,  -- JSON: where each argument is from, by its path
  may_stand INTEGER NOT NULL DEFAULT 0,  -- whether all calls alike may be approved as well
  UNIQUE(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT;
CREATE INDEX approval_open ON approval(state) WHERE state IN('pending','granted');
CREATE INDEX approval_asked_with ON approval(asked_with) WHERE asked_with IS NOT NULL;

CREATE TABLE standing_approval(  -- an operator's answer to all calls of a kind, until it ends
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, tool TEXT NOT NULL,
  chat_key TEXT,  -- NULL: in every chat
  arguments TEXT NOT NULL,  -- JSON by name: {"is": value}, or {} for any value
  by_user TEXT NOT NULL, made_at INTEGER NOT NULL, ends_at INTEGER NOT NULL,
  used INTEGER NOT NULL DEFAULT 0, last_used_at INTEGER) STRICT;
CREATE INDEX standing_approval_tool ON standing_approval(agent_id, tool);

CREATE TABLE call_verdict(  -- what a person found out about a call of unknown outcome
  turn_id TEXT NOT NULL, seq INTEGER NOT NULL, happened INTEGER NOT NULL,
  by_user TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(turn_id, seq),
  FOREIGN KEY(turn_id, seq) REFERENCES step(turn_id, seq)) STRICT, WITHOUT ROWID;

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

-- Messages out ------------------------------------------------------------------------------------

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
  voice INTEGER NOT NULL DEFAULT 0,  -- 1: the body is spoken, and sent as the file media_id
  notice INTEGER NOT NULL DEFAULT 0,  -- 1: the daemon says it, so that no model reads it
  choices TEXT) STRICT;  -- buttons: a JSON object of commands by label
CREATE UNIQUE INDEX outbox_part ON outbox(turn_id, part) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_open ON outbox(chat_key, id)
  WHERE state NOT IN('delivered','unknown','abandoned','failed_permanent');
CREATE INDEX outbox_loose ON outbox(ended_at)  -- for retention
  WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE INDEX outbox_preview ON outbox(turn_id) WHERE final = 0;  -- each start closes some
CREATE INDEX outbox_unknown ON outbox(chat_key) WHERE state = 'unknown';
CREATE INDEX outbox_question ON outbox(approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX outbox_choices ON outbox(choices) WHERE choices IS NOT NULL;
-- What comes to a chat besides the answers to its messages, for its history: outcomes of tasks,
-- what agents send from other chats, the daemon's notices.
CREATE INDEX outbox_aside ON outbox(chat_key, id) WHERE turn_id IS NULL OR aside = 1;
CREATE INDEX outbox_media ON outbox(media_id) WHERE media_id IS NOT NULL;

-- History -----------------------------------------------------------------------------------------

-- Every state that a message, turn, step or outbox row was ever in, for `orchestrator trace`.
-- Triggers write it, with the database's clock, so that no caller can omit or misdate a change.
CREATE TABLE transition(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('inbox','turn','step','outbox')),
  number INTEGER NOT NULL,  -- inbox.id, outbox.id or step.seq; 0 for a turn
  turn_id TEXT, state TEXT NOT NULL, note TEXT) STRICT;
CREATE INDEX transition_turn ON transition(turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX transition_inbox ON transition(number) WHERE kind = 'inbox';
CREATE INDEX transition_loose ON transition(number)  -- for retention
  WHERE kind = 'outbox' AND turn_id IS NULL;

CREATE TABLE sent_spans(  -- one row: up to where a collector of traces has them, see `row_marks`
  id INTEGER PRIMARY KEY CHECK(id = 1), transition_id INTEGER NOT NULL,
  at INTEGER NOT NULL, read_at INTEGER NOT NULL) STRICT;

-- Spending ----------------------------------------------------------------------------------------

CREATE TABLE model_call(  -- reserved at an estimate before the call, settled after it
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, turn_id TEXT, model TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('reserved','settled','lost')),
  prompt INTEGER NOT NULL, completion INTEGER NOT NULL, cached INTEGER NOT NULL,  -- tokens
  usd REAL,  -- NULL: the model has no price
  at INTEGER NOT NULL,
  seq INTEGER,  -- of the response, in `step`
  purpose TEXT) STRICT;  -- turn, compaction, facts, embedding
CREATE INDEX model_call_window ON model_call(agent_id, at, prompt, completion, usd);
CREATE INDEX model_call_turn ON model_call(turn_id);

CREATE TABLE pause(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
  -- account: the provider refuses the agent's key or has no credit for it
  kind TEXT NOT NULL CHECK(kind IN('operator','anomaly','budget','account')),
  reason TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER,
  mark INTEGER) STRICT;  -- the last model_call before its end: the detector counts those after it
CREATE UNIQUE INDEX one_pause ON pause(agent_id) WHERE ended_at IS NULL;

CREATE TABLE pause_told(  -- chats that were sent the notice of a pause
  pause_id INTEGER NOT NULL REFERENCES pause, chat_key TEXT NOT NULL,
  PRIMARY KEY(pause_id, chat_key)) STRICT, WITHOUT ROWID;

-- Trials ------------------------------------------------------------------------------------------

CREATE TABLE trial(  -- recorded turns run again without effects, with something changed
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN('replay','test','switch')),
  agent_id TEXT NOT NULL,
  change TEXT NOT NULL,  -- of the extension workbench, which alone reads it
  by_user TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('running','done','stopped')), note TEXT NOT NULL DEFAULT '',
  limit_tokens INTEGER, limit_usd REAL, made_at INTEGER NOT NULL, ended_at INTEGER) STRICT;
CREATE INDEX trial_made ON trial(made_at);

CREATE TABLE trial_turn(
  trial_id INTEGER NOT NULL REFERENCES trial, turn_id TEXT NOT NULL, nth INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN('waiting','done')), fidelity TEXT,
  result TEXT,  -- the same: steps, answer, verdicts
  prompt INTEGER NOT NULL DEFAULT 0, completion INTEGER NOT NULL DEFAULT 0,
  cached INTEGER NOT NULL DEFAULT 0, usd REAL, ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(trial_id, turn_id, nth)) STRICT, WITHOUT ROWID;
CREATE INDEX trial_turn_turn ON trial_turn(turn_id);

CREATE TABLE saved_turn(  -- turns kept as tests, with their checks; retention leaves them alone
  set_name TEXT NOT NULL, turn_id TEXT NOT NULL REFERENCES turn, checks TEXT NOT NULL,
  by_user TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(set_name, turn_id)) STRICT, WITHOUT ROWID;
CREATE INDEX saved_turn_turn ON saved_turn(turn_id);

-- Memory ------------------------------------------------------------------------------------------

CREATE TABLE fact(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, fact TEXT NOT NULL, category TEXT NOT NULL,
  source TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 1, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT 'user',
  scope TEXT NOT NULL DEFAULT '',
  said_in INTEGER,  -- the message that says it, if one is known
  valid_from INTEGER, valid_to INTEGER,  -- when it began and ceased to be true; NULL: open
  ended_by TEXT,  -- 'fact ID', which replaced it, or who ended it: user, operator, extraction
  subject TEXT NOT NULL DEFAULT '', slot TEXT NOT NULL DEFAULT '') STRICT;  -- 'user', 'home city'
CREATE INDEX fact_ended ON fact(valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX fact_slot ON fact(agent_id, slot, subject) WHERE slot <> '';
CREATE INDEX fact_unsaid ON fact(source) WHERE said_in IS NULL;
CREATE INDEX fact_category ON fact(agent_id, category, id);
CREATE INDEX fact_scope ON fact(agent_id, scope);

CREATE TABLE fact_gone(  -- what was forgotten and must not be learned again
  agent_id TEXT NOT NULL, scope TEXT NOT NULL,
  digest TEXT NOT NULL,  -- keyed hash of the normalized text
  at INTEGER NOT NULL, PRIMARY KEY(agent_id, scope, digest)) STRICT, WITHOUT ROWID;

CREATE TABLE memory_card(  -- the facts that a chat's prompts show since its sitting began
  agent_id TEXT NOT NULL, scope TEXT NOT NULL,
  facts TEXT NOT NULL,  -- a JSON array of ids
  at INTEGER NOT NULL, PRIMARY KEY(agent_id, scope)) STRICT, WITHOUT ROWID;

CREATE TABLE message_vector(  -- of one model for each agent at a time
  message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
  agent_id TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  signs BLOB NOT NULL,  -- a bit for each number of the vector, for a first, cheap comparison
  vector BLOB NOT NULL) STRICT;
CREATE INDEX message_vector_model ON message_vector(agent_id, model, message_id);

CREATE TABLE fact_vector(  -- of one model for each agent at a time, so that they are comparable
  fact_id INTEGER PRIMARY KEY REFERENCES fact ON DELETE CASCADE,
  agent_id TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  signs BLOB NOT NULL,  -- a bit for each number of the vector, for a first, cheap comparison
  vector BLOB NOT NULL) STRICT;  -- 32-bit floats, little-endian, of length one
CREATE INDEX fact_vector_model ON fact_vector(agent_id, model, dimensions);

CREATE TABLE profile(
  agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL, updated_at INTEGER NOT NULL,
  origins TEXT NOT NULL DEFAULT '{}',  -- JSON: by path, of the fields that others wrote
  PRIMARY KEY(agent_id, scope)) STRICT;

CREATE TABLE profile_change(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, path TEXT NOT NULL,
  before TEXT, after TEXT,  -- JSON; NULL: there was, or is, nothing
  source TEXT NOT NULL, at INTEGER NOT NULL, scope TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX profile_changes ON profile_change(agent_id, scope, id);

CREATE TABLE playbook(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL, description TEXT NOT NULL,
  instructions TEXT NOT NULL, keywords TEXT NOT NULL, priority REAL NOT NULL,
  required_tools TEXT NOT NULL,  -- JSON arrays, as keywords is
  enabled INTEGER NOT NULL DEFAULT 1, source TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  origin TEXT NOT NULL DEFAULT 'user', UNIQUE(agent_id, scope, name)) STRICT;

CREATE TABLE playbook_seed(  -- playbooks that an agent got once; a deleted one does not come back
  agent_id TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(agent_id, name)) STRICT, WITHOUT ROWID;

CREATE TABLE playbook_state(  -- a random value that changes with an agent's playbooks, for caches
  agent_id TEXT NOT NULL, scope TEXT NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY(agent_id, scope)) STRICT, WITHOUT ROWID;

-- Tasks -------------------------------------------------------------------------------------------

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
CREATE UNIQUE INDEX task_name ON task(agent_id, source, scope, name)
  WHERE state IN('active','disabled');
-- Tasks that tools made lately are counted for each chat, to bound their number.
CREATE INDEX task_made ON task(agent_id, scope, created_at) WHERE source = 'tool';

CREATE TABLE task_run(  -- an instant at which a task was due
  task_id INTEGER NOT NULL REFERENCES task, scheduled_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN('due','missed','skipped','ran','failed')),
  inbox_id INTEGER UNIQUE REFERENCES inbox, note TEXT, result TEXT,
  created_at INTEGER NOT NULL, ended_at INTEGER,
  PRIMARY KEY(task_id, scheduled_at),
  CHECK(state IN('missed','skipped') OR inbox_id IS NOT NULL)) STRICT, WITHOUT ROWID;
CREATE INDEX task_run_open ON task_run(task_id) WHERE state = 'due';

-- Tools -------------------------------------------------------------------------------------------

CREATE TABLE tool_pin(  -- the tools of MCP servers as they were first seen or last approved
  server TEXT NOT NULL, tool TEXT NOT NULL,
  sha256 TEXT NOT NULL,  -- of the tool as its server listed it then
  changed TEXT,  -- of the tool as it is listed now; not NULL: blocked until approved
  by TEXT NOT NULL, at INTEGER NOT NULL,
  definition TEXT,  -- JSON of the tool as it was approved; NULL: not recorded, '': too long
  PRIMARY KEY(server, tool)) STRICT, WITHOUT ROWID;

CREATE TABLE tool_list(  -- what each MCP server listed last, offered until it answers again
  server TEXT NOT NULL PRIMARY KEY,
  tools TEXT NOT NULL,  -- JSON: the ServerTool of the tool host
  at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- Who may use the page; `agents` is a JSON array, and NULL stands for all of them -----------------

CREATE TABLE web_session(
  digest TEXT PRIMARY KEY, "user" TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  made_at INTEGER NOT NULL, last_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, label TEXT,
  made_by TEXT NOT NULL DEFAULT 'code') STRICT;  -- or 'identity', which a proxy told

CREATE TABLE web_invite(
  digest TEXT PRIMARY KEY, "user" TEXT NOT NULL, role TEXT NOT NULL, agents TEXT,
  ends_at INTEGER NOT NULL, used_at INTEGER) STRICT;
