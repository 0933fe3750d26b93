CREATE TABLE degradation(  -- what a turn did without: thinker.protocol.degradations.Degradation
  turn_id TEXT NOT NULL REFERENCES turn, kind TEXT NOT NULL, subject TEXT NOT NULL,
  what TEXT NOT NULL, words TEXT NOT NULL, agent_id TEXT NOT NULL, at INTEGER NOT NULL,
  seq INTEGER,  -- the model response; NULL: the turn failed
  PRIMARY KEY(turn_id, kind, subject)) STRICT, WITHOUT ROWID;
CREATE INDEX degradation_agent ON degradation(agent_id, at);

-- What the daemon said in place of an answer was stored as words of the agent: an assistant's
-- message, of a turn that did not end well, that no response of its model has. Retention may have
-- removed the turn, and then the text tells.
DELETE FROM message WHERE CASE WHEN json_valid(body)
  THEN body ->> '$.role' = 'assistant' AND ifnull(json_array_length(body, '$.tool_calls'), 0) = 0
  END AND (
  turn_id IN(SELECT id FROM turn WHERE stop_reason <> 'done')
    AND NOT EXISTS(SELECT 1 FROM step WHERE step.turn_id = message.turn_id AND kind = 'model'
      AND CASE WHEN json_valid(result) THEN result ->> '$.content' = body ->> '$.content' END)
  OR NOT EXISTS(SELECT 1 FROM turn WHERE turn.id = message.turn_id) AND body ->> '$.content' IN(
    '(stopped)',
    'I stopped after the allowed number of steps without finishing.'
      || ' Tell me to go on if you want me to.',
    'I stopped because this answer used up its token limit.',
    'I ran out of time for this one. Please try again.',
    'I have no answer to that: the model returned nothing.',
    'The model declined to answer this.',
    'I couldn''t get an answer from the model just now. Please try again in a moment.',
    'This is more than the model can read at once. Please send less of it, or'
      || ' begin a new conversation.',
    'The model did not answer in the form that was asked for.',
    'The model did not use the tool that it had to use for this.',
    'I have nothing to say to that.'));

ALTER TABLE outbox ADD COLUMN notice INTEGER NOT NULL DEFAULT 0;  -- 1: the daemon says it
UPDATE outbox SET notice = 1 WHERE turn_id IS NULL AND (markdown = 0 OR approval_id IS NOT NULL)
  OR turn_id IN(SELECT id FROM turn WHERE stop_reason <> 'done' AND ended_at <= outbox.created_at
    AND NOT EXISTS(SELECT 1 FROM step WHERE step.turn_id = turn.id AND kind = 'model'
      AND seq = (SELECT max(seq) FROM step AS last WHERE last.turn_id = turn.id)
      AND CASE WHEN json_valid(result) THEN result ->> '$.content' <> '' END));
