ALTER TABLE pairing ADD COLUMN role TEXT CHECK(role IN('talk','approve','operate'));
ALTER TABLE inbox ADD COLUMN quote TEXT;
