-- On most platforms a private chat has another id than its person, who is known in groups by their own.
ALTER TABLE pairing ADD COLUMN sender_id TEXT NOT NULL DEFAULT '';  -- the person who asked
