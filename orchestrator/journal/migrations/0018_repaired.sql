-- Whether a turn's answer was made from one that was cut or no JSON.
ALTER TABLE turn ADD COLUMN repaired INTEGER NOT NULL DEFAULT 0;
