-- What a chat wrote while it waited to be paired: the texts of its refused messages.
CREATE TABLE held(
  inbox_id INTEGER PRIMARY KEY REFERENCES inbox,
  channel TEXT NOT NULL, chat_id TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX held_chat ON held(channel, chat_id);
ALTER TABLE pairing ADD COLUMN bot_id TEXT NOT NULL DEFAULT '';  -- the bot that was written to
UPDATE pairing SET bot_id = ifnull(
  (SELECT bot_id FROM inbox WHERE inbox.channel = pairing.channel ORDER BY id DESC LIMIT 1), '');
