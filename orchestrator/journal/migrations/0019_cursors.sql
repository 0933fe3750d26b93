-- Where a channel goes on is a number, or the mark of a platform that does not count.
CREATE TABLE channel_goes_on(
  channel TEXT NOT NULL, bot_id TEXT NOT NULL, next ANY NOT NULL,
  PRIMARY KEY(channel, bot_id)) STRICT, WITHOUT ROWID;
INSERT INTO channel_goes_on SELECT channel, bot_id, next FROM channel_offset;
DROP TABLE channel_offset;
ALTER TABLE channel_goes_on RENAME TO channel_offset;
