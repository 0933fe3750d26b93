-- Conversations that clients of the Responses API made, and what they put into them.
CREATE TABLE conversation(
  id TEXT PRIMARY KEY, created_at INTEGER NOT NULL,
  metadata TEXT NOT NULL) STRICT, WITHOUT ROWID;  -- the client's own, an object
CREATE TABLE conversation_item(
  conversation_id TEXT NOT NULL REFERENCES conversation, seq INTEGER NOT NULL,
  message TEXT NOT NULL,  -- as the worker has it
  request_id TEXT,  -- the request that took it in; NULL while it waits for one
  PRIMARY KEY(conversation_id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_item_request ON conversation_item(request_id)
  WHERE request_id IS NOT NULL;
