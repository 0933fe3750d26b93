ALTER TABLE outbox ADD COLUMN
  rendered TEXT;  -- the body in the platform's markup, for a part of a reply that was cut
