-- Whoever waits for the answer to a message of this machine asks for it by its id alone.
CREATE INDEX inbox_local ON inbox(message_id) WHERE update_id IS NULL;
