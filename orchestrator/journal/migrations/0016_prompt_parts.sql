-- What prompts were made of, so that two turns can be compared; each text is kept once.

CREATE TABLE prompt_part(digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
ALTER TABLE turn_prompt ADD COLUMN definition TEXT REFERENCES prompt_part;
ALTER TABLE turn_prompt ADD COLUMN tools TEXT REFERENCES prompt_part;
CREATE INDEX prompt_definition ON turn_prompt(definition) WHERE definition IS NOT NULL;
CREATE INDEX prompt_tools ON turn_prompt(tools) WHERE tools IS NOT NULL;
