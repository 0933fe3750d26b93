-- Files in and out: documents that come with messages, files that tools made, files that are sent.
ALTER TABLE attachment ADD COLUMN name TEXT NOT NULL DEFAULT '';  -- of the file
ALTER TABLE attachment ADD COLUMN
  body TEXT;  -- how the text of a document begins, as models read it
ALTER TABLE outbox ADD COLUMN media_id TEXT;  -- of the file that is sent; the body is its caption
ALTER TABLE outbox ADD COLUMN file_name TEXT;
CREATE TABLE tool_file(  -- files and pictures that tool calls returned
  turn_id TEXT NOT NULL REFERENCES turn, seq INTEGER NOT NULL, part INTEGER NOT NULL,
  media_id TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(turn_id, seq, part)) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_media ON attachment(media_id) WHERE media_id IS NOT NULL;
CREATE INDEX outbox_media ON outbox(media_id) WHERE media_id IS NOT NULL;
CREATE INDEX tool_file_media ON tool_file(media_id);
-- What a message does to an answer that is being written; NULL leaves it to the agent's whileBusy.
ALTER TABLE inbox ADD COLUMN
  while_busy TEXT CHECK(while_busy IN('queue','steer','interrupt'));
