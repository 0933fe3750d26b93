-- Refuses what a session writes for a group of agents whose lock it has not, see `group_locks`.
CREATE FUNCTION guard_group(owner text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name bytea := convert_to(CASE WHEN owner LIKE 'subagent/%'
    THEN regexp_replace(substr(owner, 10), '(-sub-[0-9a-f]{12}-[0-9]+)+$', '')
    ELSE owner END, 'UTF8');
  crc bigint := 4294967295;
BEGIN
  FOR i IN 0 .. octet_length(name) - 1 LOOP
    crc := crc # get_byte(name, i);
    FOR j IN 1 .. 8 LOOP
      crc := (crc >> 1) # CASE WHEN crc & 1 = 1 THEN 3988292384 ELSE 0 END;
    END LOOP;
  END LOOP;
  RETURN (crc # 4294967295) % 128;
END $$;

CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  owner text;
BEGIN
  IF tg_table_name = 'turn' THEN
    owner := CASE WHEN new.chat_key LIKE 'subagent/%' THEN new.chat_key ELSE new.agent_id END;
    IF tg_op = 'UPDATE' AND old.agent_id <> new.agent_id THEN  -- until the transaction ends
      owner := old.agent_id;
      PERFORM set_config('guard.handed', new.id, true);
    END IF;
  ELSIF new.turn_id IS DISTINCT FROM current_setting('guard.handed', true) THEN
    SELECT CASE WHEN chat_key LIKE 'subagent/%' THEN chat_key ELSE agent_id END INTO owner
      FROM turn WHERE id = new.turn_id;
    IF owner IS NULL AND tg_table_name = 'outbox' AND tg_op = 'UPDATE' THEN
      owner := new.chat_key;
    END IF;
  END IF;
  IF owner IS NOT NULL AND NOT EXISTS(
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = 1869767527
      AND objid = guard_group(owner) AND pid = pg_backend_pid() AND granted
  ) THEN
    RAISE EXCEPTION 'guard: % of % by a session without its lock', tg_table_name, owner;
  END IF;
  RETURN new;
END $$;

CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON turn FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON step FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON model_call FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TRIGGER guard BEFORE UPDATE ON inbox FOR EACH ROW EXECUTE FUNCTION guard();
