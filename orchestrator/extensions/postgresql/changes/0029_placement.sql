DROP TABLE IF EXISTS last_commit;

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
