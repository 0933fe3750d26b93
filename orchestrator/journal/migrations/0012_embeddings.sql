-- What facts mean, as vectors: of one model for each agent at a time, so that they can be compared.

CREATE TABLE fact_vector(
  fact_id INTEGER PRIMARY KEY REFERENCES fact ON DELETE CASCADE,
  agent_id TEXT NOT NULL, model TEXT NOT NULL, dimensions INTEGER NOT NULL,
  signs BLOB NOT NULL,  -- of the vector's numbers, a bit each: read before, and instead of, these
  vector BLOB NOT NULL) STRICT;  -- 32-bit floats, little-endian, of length one
CREATE INDEX fact_vector_model ON fact_vector(agent_id, model, dimensions);
CREATE TRIGGER fact_means_another AFTER UPDATE OF fact ON fact WHEN old.fact IS NOT new.fact BEGIN
  DELETE FROM fact_vector WHERE fact_id = old.id;
END;
