-- What MCP servers said of their tools when they were first seen or last approved (S33).

CREATE TABLE tool_pin(
  server TEXT NOT NULL, tool TEXT NOT NULL,
  sha256 TEXT NOT NULL,  -- of the tool as its server listed it then
  changed TEXT,  -- of what the server lists instead; until that is approved, nobody may use the tool
  by TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(server, tool)) STRICT, WITHOUT ROWID;
