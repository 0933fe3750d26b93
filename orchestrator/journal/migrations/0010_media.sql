-- Pictures: their bytes once each, and what came with a message, by what its channel fetches it.

CREATE TABLE media(
  id TEXT PRIMARY KEY,  -- SHA-256 of the bytes
  media_type TEXT NOT NULL, data BLOB NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX media_age ON media(at);

CREATE TABLE attachment(
  inbox_id INTEGER NOT NULL REFERENCES inbox, part INTEGER NOT NULL,
  handle TEXT NOT NULL, about TEXT NOT NULL,
  state TEXT NOT NULL CHECK(state IN('wanted','kept','given up')),
  media_id TEXT, media_type TEXT NOT NULL DEFAULT '',
  PRIMARY KEY(inbox_id, part)) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_wanted ON attachment(inbox_id) WHERE state = 'wanted';
