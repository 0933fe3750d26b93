-- What retention looks for: turns and loose messages by their end, and the history of the latter.

CREATE INDEX turn_ended ON turn(ended_at) WHERE state IN('closed','cancelled','failed');
CREATE INDEX inbox_loose ON inbox(ended_at) WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE INDEX outbox_loose ON outbox(ended_at) WHERE turn_id IS NULL AND ended_at IS NOT NULL;
CREATE INDEX transition_loose ON transition(number) WHERE kind = 'outbox' AND turn_id IS NULL;
CREATE INDEX message_age ON message(at);
CREATE INDEX model_call_age ON model_call(at);
CREATE INDEX turn_session ON turn(session_id, started_at);
