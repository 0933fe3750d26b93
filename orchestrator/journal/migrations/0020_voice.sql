-- Voice messages in and out.
ALTER TABLE attachment ADD COLUMN
  voice INTEGER NOT NULL DEFAULT 0;  -- 1: the person says it, so that its text is the message's
ALTER TABLE outbox ADD COLUMN
  voice INTEGER NOT NULL DEFAULT 0;  -- 1: the body is spoken, and then sent as the file media_id
