-- Requests of programs over HTTP: a message each, with what came with it and what it came to.

CREATE TABLE request(
  inbox_id INTEGER PRIMARY KEY REFERENCES inbox,
  id TEXT NOT NULL UNIQUE,  -- also its message's on the channel `api`
  idem_key TEXT UNIQUE,  -- what its client may ask again with
  digest TEXT NOT NULL,  -- SHA-256 of what was asked, so that a key cannot stand for two things
  previous_id TEXT,  -- the request that it goes on from
  conversation TEXT,
  body TEXT NOT NULL,  -- orchestrator.journal.requests.Body
  outcome TEXT) STRICT;  -- orchestrator.journal.requests.Outcome
CREATE INDEX request_conversation ON request(conversation) WHERE conversation IS NOT NULL;
