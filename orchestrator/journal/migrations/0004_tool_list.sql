CREATE TABLE tool_list(  -- what each MCP server listed last, offered until it answers again
  server TEXT NOT NULL PRIMARY KEY,
  tools TEXT NOT NULL,  -- JSON: orchestrator.toolhost.wire.ServerTool
  at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
