-- How often a message may still be repeated when nobody knows whether it reached its chat.
ALTER TABLE outbox ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
