-- How a login of the page was made: by a 'code', or by the 'identity' that a proxy told.
ALTER TABLE web_session ADD COLUMN made_by TEXT NOT NULL DEFAULT 'code';
