-- A change of state is recorded without planning the statement each time -------------------------

CREATE OR REPLACE FUNCTION record(kind text, number bigint, turn text, state text, note text)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(extract(epoch FROM clock_timestamp()) * 1000), $1, $2, $3, $4, $5);
END $$;

-- The newest turns are found, and the oldest for retention ------------------------------------------

CREATE UNIQUE INDEX turn_row ON turn(rowid);
