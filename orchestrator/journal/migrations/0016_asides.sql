-- What comes to a chat besides the answers to its messages: outcomes of tasks, what agents send from
-- other chats, the daemon's notices. A chat's history is read with it, so it is found by the chat.
ALTER TABLE outbox ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;  -- 1: its turn is of another queue
UPDATE outbox SET aside = 1 WHERE turn_id IS NOT NULL
  AND chat_key <> (SELECT chat_key FROM turn WHERE turn.id = outbox.turn_id);
DROP INDEX outbox_notice;
CREATE INDEX outbox_aside ON outbox(chat_key, id) WHERE turn_id IS NULL OR aside = 1;
