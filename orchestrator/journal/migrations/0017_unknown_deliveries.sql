-- Each reply asks for its chat's messages of unknown delivery: not among all that were ever sent.

CREATE INDEX outbox_unknown ON outbox(chat_key) WHERE state = 'unknown';
