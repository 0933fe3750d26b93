-- Handoffs: the agent that answers a chat instead of the one that it is routed to.

CREATE TABLE handoff(
  chat_key TEXT NOT NULL, routed_id TEXT NOT NULL,  -- the agent that bindings or a message name
  agent_id TEXT NOT NULL,  -- the agent that answers
  turn_id TEXT NOT NULL, times INTEGER NOT NULL,  -- the last turn that did it, and how often it did
  at INTEGER NOT NULL,
  PRIMARY KEY(chat_key, routed_id)) STRICT, WITHOUT ROWID;
