ALTER TABLE inbox ADD COLUMN
  album TEXT;  -- the platform's id of the album that the message is a part of
CREATE INDEX inbox_album ON inbox(chat_key, album) WHERE album IS NOT NULL;
