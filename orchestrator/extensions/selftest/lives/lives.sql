-- What PostgreSQL's journal has in addition, and what the agents of this model work at.
CREATE TABLE schema_version(number, moved);
CREATE TABLE placement(grp INTEGER PRIMARY KEY, epoch DEFAULT 0, node DEFAULT '', url DEFAULT '',
  at DEFAULT 0, home DEFAULT '');
CREATE TABLE last_commit(daemon PRIMARY KEY, mark, commits);
CREATE TABLE progress(agent PRIMARY KEY, steps);
CREATE TABLE polled(account PRIMARY KEY, times);
INSERT INTO polled VALUES('telegram', 0);
CREATE TEMP TABLE pg_locks(classid, objid, objsubid, pid, shared, locktype DEFAULT 'advisory',
  granted DEFAULT 1, database DEFAULT 1,
  mode AS (iif(shared, 'ShareLock', 'ExclusiveLock')));
CREATE TEMP TABLE pg_stat_activity(pid, backend_start DEFAULT 'start', datname DEFAULT 'modelled');
CREATE TEMP TABLE pg_database(oid, datname);
INSERT INTO pg_database VALUES(1, 'modelled');

-- Whose rows a transaction has written, and who went on from what was old: see `check_commit`.
CREATE TEMP TABLE written(owner);
CREATE TEMP TABLE stale(owner);
CREATE TEMP TRIGGER of_turn AFTER UPDATE ON turn BEGIN
  INSERT INTO written VALUES(new.agent_id);
END;
CREATE TEMP TRIGGER of_new_turn AFTER INSERT ON turn BEGIN
  INSERT INTO written VALUES(new.agent_id);
END;
CREATE TEMP TRIGGER of_progress AFTER UPDATE ON progress BEGIN
  INSERT INTO written VALUES(new.agent);
END;
CREATE TEMP TRIGGER of_account AFTER UPDATE ON polled BEGIN
  INSERT INTO written VALUES('account/' || new.account);
END;
CREATE TEMP TRIGGER of_old BEFORE UPDATE ON progress WHEN new.steps <> old.steps + 1 BEGIN
  INSERT INTO stale VALUES(new.agent);
END;
