-- The approval that a message asks for, or that an edit of such a message tells the outcome of.
ALTER TABLE outbox ADD COLUMN approval_id INTEGER;
CREATE INDEX outbox_question ON outbox(approval_id) WHERE approval_id IS NOT NULL;
