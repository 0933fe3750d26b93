-- What the journal has in PostgreSQL besides the tables and indexes of schema.sql in the core.

-- The order in which rows came, which SQLite knows of every table ---------------------------------

ALTER TABLE turn ADD COLUMN rowid bigint GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX turn_row ON turn(rowid);
ALTER TABLE web_session ADD COLUMN rowid bigint GENERATED ALWAYS AS IDENTITY;

-- Daemons that share the journal ------------------------------------------------------------------

-- Which daemon works for which group of agents. The epoch counts its takeovers; `url` is where the
-- other daemons reach it. `home` is the first daemon that had the group, which has its workspaces.
CREATE TABLE placement(
  grp bigint PRIMARY KEY, epoch bigint NOT NULL DEFAULT 0, node text NOT NULL DEFAULT '',
  url text NOT NULL DEFAULT '', at bigint NOT NULL DEFAULT 0, home text NOT NULL DEFAULT ''
);
INSERT INTO placement(grp) SELECT generate_series(0, 127);

-- The mark of the last commit of each daemon's sessions, and their number. A row for all of them
-- would make each commit wait for the others.
CREATE TABLE last_commit(
  daemon text PRIMARY KEY, mark text NOT NULL, commits bigint NOT NULL
);

-- The configuration that all machines share; with a journal in a file there is one machine --------

CREATE TABLE config_version(
  number bigint PRIMARY KEY, digest text NOT NULL, pushed_at bigint NOT NULL, host text NOT NULL
);
CREATE TABLE config_file(
  version bigint NOT NULL REFERENCES config_version, name text NOT NULL,
  executable bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY(version, name)
);

-- What queries use under SQLite's names -----------------------------------------------------------

CREATE FUNCTION json_path(path text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN string_to_array(ltrim(path, '$.'), '.');
CREATE FUNCTION json_member(body text, path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
  PARALLEL SAFE RETURN body::json #>> json_path(path);
CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_member);
CREATE FUNCTION ifnull(anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE
  PARALLEL SAFE AS 'SELECT coalesce($1, $2)';
CREATE FUNCTION iif(boolean, anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql
  IMMUTABLE PARALLEL SAFE AS 'SELECT CASE WHEN $1 THEN $2 ELSE $3 END';
CREATE FUNCTION instr(text, text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN strpos($1, $2);
CREATE FUNCTION max(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN greatest($1, $2) END;
CREATE FUNCTION min(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN least($1, $2) END;
CREATE FUNCTION json_valid(body text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  PERFORM body::json;
  RETURN true;
EXCEPTION WHEN invalid_text_representation THEN
  RETURN false;
END $$;
CREATE FUNCTION json_extract(body text, path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
  PARALLEL SAFE RETURN body ->> path;
CREATE FUNCTION json_array_length(body text, path text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
  PARALLEL SAFE RETURN json_array_length((body ->> path)::json);
CREATE FUNCTION json_each(body text) RETURNS TABLE(key bigint, value text) LANGUAGE sql IMMUTABLE
  STRICT PARALLEL SAFE AS $$
    SELECT number - 1, item
      FROM json_array_elements_text(body::json) WITH ORDINALITY AS t(item, number)
  $$;

-- Searching: words by their stems, without accents; parts of words by trigrams --------------------

-- An index takes texts of 2,700 bytes at most.
CREATE UNIQUE INDEX fact_once ON fact(agent_id, md5(fact), scope) WHERE valid_to IS NULL;

-- The message that a tool's fact comes from is stored later than the fact, when the turn ends.
CREATE FUNCTION fact_said() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE fact SET said_in = new.id WHERE said_in IS NULL AND source = 'turn ' || new.turn_id;
  RETURN NULL;
END $$;
CREATE TRIGGER fact_said AFTER INSERT ON message FOR EACH ROW EXECUTE FUNCTION fact_said();

CREATE TEXT SEARCH DICTIONARY stems(TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION words(COPY = simple);
ALTER TEXT SEARCH CONFIGURATION words ALTER MAPPING FOR asciiword, asciihword, hword_asciipart,
  word, hword, hword_part WITH unaccent, stems;

-- A body that cannot be read must not keep a turn from ending. (With an exception to catch, a
-- function cannot run in parallel.)
CREATE FUNCTION said_in(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN CASE WHEN body::json ->> 'role' IN('user','assistant')
    THEN nullif(body::json ->> 'content', '') END;
EXCEPTION WHEN data_exception OR statement_too_complex THEN
  RETURN NULL;
END $$;
CREATE VIEW said AS SELECT id, session_id, at, body ->> 'role' AS role, said_in(body) AS text
  FROM message WHERE said_in(body) IS NOT NULL;
-- An index cannot take all words of a text of megabytes, and a turn has to end nevertheless.
CREATE FUNCTION indexed_part(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN left($1, 100000);
-- Words end at any sign, as they do for queries; the server's parser would keep addresses whole.
CREATE FUNCTION words_in(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('words', translate(indexed_part($1), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~',
    repeat(' ', 32)));
CREATE FUNCTION letters_in(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN lower(indexed_part($1) COLLATE "default");
-- The place of each message that searches find, see `sqlite.sql` in the core.
CREATE TABLE message_place(
  message_id bigint PRIMARY KEY REFERENCES message ON DELETE CASCADE,
  place bigint NOT NULL UNIQUE, words tsvector NOT NULL
);
CREATE INDEX said_words ON message_place USING gin(words) WITH (fastupdate = off);
CREATE INDEX fact_words ON fact USING gin(words_in(fact));
CREATE INDEX fact_grams ON fact USING gin(letters_in(fact) gin_trgm_ops)
  WHERE octet_length(letters_in(fact)) <> length(letters_in(fact));

-- Every change of state is recorded ---------------------------------------------------------------

-- In plpgsql, which keeps the plan; a function in SQL is planned at each call.
CREATE FUNCTION record(kind text, number bigint, turn text, state text, note text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO transition(at, kind, number, turn_id, state, note)
    VALUES(round(extract(epoch FROM clock_timestamp()) * 1000), $1, $2, $3, $4, $5);
END $$;

CREATE FUNCTION inbox_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op = 'INSERT' THEN
    PERFORM record('inbox', new.id, NULL, new.state, new.error);
  ELSIF new.claims > old.claims THEN
    PERFORM record('inbox', new.id, new.turn_id, new.state, 'process death ' || new.claims);
  ELSIF new.state <> old.state THEN
    PERFORM record('inbox', new.id, new.turn_id, new.state, new.error);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER inbox_moved AFTER INSERT OR UPDATE OF state, claims ON inbox
  FOR EACH ROW EXECUTE FUNCTION inbox_moved();

CREATE FUNCTION turn_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op = 'INSERT' THEN
    PERFORM record('turn', 0, new.id, new.state, 'epoch ' || new.epoch);
  ELSIF new.epoch <> old.epoch THEN
    PERFORM record('turn', 0, new.id, new.state, 'adopted in epoch ' || new.epoch);
  ELSIF new.state <> old.state THEN
    PERFORM record('turn', 0, new.id, new.state, new.error);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER turn_moved AFTER INSERT OR UPDATE OF state, epoch ON turn
  FOR EACH ROW EXECUTE FUNCTION turn_moved();

CREATE FUNCTION step_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM record('step', new.seq, new.turn_id, new.state, NULL);
  RETURN NULL;
END $$;
CREATE TRIGGER step_moved AFTER INSERT OR UPDATE ON step
  FOR EACH ROW EXECUTE FUNCTION step_moved();

CREATE FUNCTION outbox_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op = 'INSERT' THEN
    PERFORM record('outbox', new.id, new.turn_id, new.state, NULL);
  ELSIF new.attempt <> old.attempt THEN
    PERFORM record('outbox', new.id, new.turn_id, new.state, 'attempt ' || new.attempt);
  ELSIF new.state <> old.state THEN
    PERFORM record('outbox', new.id, new.turn_id, new.state, new.error);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER outbox_moved AFTER INSERT OR UPDATE OF state, attempt ON outbox
  FOR EACH ROW EXECUTE FUNCTION outbox_moved();

CREATE FUNCTION fact_means_another() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM fact_vector WHERE fact_id = old.id;
  RETURN NULL;
END $$;
CREATE TRIGGER fact_means_another AFTER UPDATE OF fact ON fact FOR EACH ROW
  WHEN (old.fact <> new.fact) EXECUTE FUNCTION fact_means_another();

-- `playbook_state` has a new value after every change of an agent's playbooks ---------------------

CREATE FUNCTION playbook_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op <> 'DELETE' THEN
    INSERT INTO playbook_state VALUES(new.agent_id, new.scope, uuid_send(gen_random_uuid()))
      ON CONFLICT(agent_id, scope) DO UPDATE SET state = excluded.state;
  ELSE
    DELETE FROM playbook_state WHERE agent_id = old.agent_id AND scope = old.scope;
    INSERT INTO playbook_state SELECT old.agent_id, old.scope, uuid_send(gen_random_uuid())
      WHERE EXISTS(SELECT FROM playbook WHERE agent_id = old.agent_id AND scope = old.scope)
      OR old.scope = '' AND EXISTS(SELECT FROM playbook_seed WHERE agent_id = old.agent_id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER playbook_changed AFTER INSERT OR UPDATE OR DELETE ON playbook
  FOR EACH ROW EXECUTE FUNCTION playbook_changed();

CREATE FUNCTION playbook_given() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op = 'INSERT' THEN
    INSERT INTO playbook_state VALUES(new.agent_id, '', uuid_send(gen_random_uuid()))
      ON CONFLICT(agent_id, scope) DO UPDATE SET state = excluded.state;
  ELSE
    DELETE FROM playbook_state WHERE agent_id = old.agent_id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER playbook_given AFTER INSERT OR DELETE ON playbook_seed
  FOR EACH ROW EXECUTE FUNCTION playbook_given();
