-- A message that may reach its chat twice is sent again when nobody knows whether it did.
ALTER TABLE outbox ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
