-- Fewer b-trees change with a message, as each costs a page in each transaction that touches it.
-- Old rows are found by their ids, which follow their times, see `retention`.
DROP INDEX turn_unclosed;
DROP INDEX turn_ended;
DROP INDEX message_age;
DROP INDEX model_call_age;
DROP INDEX model_call_turn;
CREATE INDEX model_call_turn ON model_call(turn_id);
DROP INDEX session_size;
CREATE INDEX session_size ON session(tokens) WHERE ended_at IS NULL AND tokens > 1000;

-- What most prompts of an agent have in common is stored once: the long layers, and the tools.
ALTER TABLE turn_prompt ADD COLUMN common TEXT REFERENCES prompt_part;
CREATE INDEX prompt_common ON turn_prompt(common) WHERE common IS NOT NULL;

-- Messages are indexed for search 64 at a time; `message_search` indexes the rest when it searches.
DROP TRIGGER message_said;
CREATE TRIGGER message_said AFTER INSERT ON message WHEN new.id % 64 = 0 BEGIN
  INSERT INTO message_grams(rowid, text) SELECT id, text FROM said
    WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize)
    AND octet_length(text) <> length(text);
  INSERT INTO message_words(rowid, text) SELECT id, text FROM said
    WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize);
END;
