-- A new schema, of the newest version. Times are seconds since 1970 by the database's clock, except `beat`: boottime of the
-- holder's own boot. A text of the user's (key, project, label) has its backslashes doubled and NUL written as \0.
--
-- It has no trace of columns that were dropped on the way here: each would be a null in every row, in front of others, which then
-- have to be searched for (3 µs a task from claim to completion).

CREATE TABLE {schema}.queues (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    paused text,  -- why; null when it is not
    retention double precision NOT NULL
);

CREATE TABLE {schema}.holders (  -- processes that claim
    queue integer NOT NULL REFERENCES {schema}.queues ON DELETE CASCADE,
    session text COLLATE "C" NOT NULL,
    host text NOT NULL,
    machine text NOT NULL,
    boot text NOT NULL,
    space text NOT NULL,
    pid integer,
    start text NOT NULL,
    guard integer,
    guard_start text NOT NULL,
    since double precision NOT NULL,
    seen double precision NOT NULL,
    PRIMARY KEY (session, queue)
);

CREATE TYPE {schema}.state AS ENUM (
    'ready', 'scheduled', 'blocked', 'claimed', 'completed', 'failed', 'cancelled', 'leaving'
);

CREATE TABLE {schema}.tasks (  -- wide values first: what is in front of a column has to be stepped over to read it
    id uuid NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    deaths bigint NOT NULL DEFAULT 0,
    since double precision NOT NULL DEFAULT 0,  -- of the latest lease: claimed, last renewed
    renewed double precision NOT NULL DEFAULT 0,
    at double precision NOT NULL DEFAULT 0,  -- when it is due, runs out, or ended
    ttl double precision NOT NULL DEFAULT 0,
    beat double precision NOT NULL DEFAULT 0,
    keyed double precision NOT NULL DEFAULT 0,  -- when it last took its key
    queue integer NOT NULL,
    priority integer NOT NULL,
    awaited boolean NOT NULL DEFAULT false,  -- another task was pushed to run after it
    state {schema}.state NOT NULL,
    holder text COLLATE "C" NOT NULL DEFAULT '',  -- session: of the lease, or of who completed it
    record text NOT NULL,  -- the task as it was pushed, JSON
    -- How its leases ended, JSON each; a completion without a result is not repeated here.
    history text[] NOT NULL DEFAULT '{}',
    labels text[] COLLATE "C" NOT NULL DEFAULT '{}',
    key text COLLATE "C",
    project text COLLATE "C",
    not_before double precision,
    until double precision,  -- the latest lease may not pass it
    max_runtime double precision,
    was {schema}.state,  -- when leaving, and no task of this queue any more: its state before, where to, and since when
    moved_to text,
    departed double precision,
    PRIMARY KEY (id, queue)  -- in this order, so that nobody takes it for a way to all tasks of a queue
) WITH (
    fillfactor = 50,  -- a task's later versions fit beside it: less to log, and no new pages
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05
);

CREATE INDEX tasks_ready ON {schema}.tasks (queue, (-priority), id) WHERE state = 'ready';
CREATE INDEX tasks_ready_project ON {schema}.tasks (queue, project, (-priority), id)
    WHERE state = 'ready' AND project IS NOT NULL;
CREATE INDEX tasks_ready_labels ON {schema}.tasks USING gin (labels) WHERE state = 'ready' AND labels <> '{}';
CREATE UNIQUE INDEX tasks_live_key ON {schema}.tasks (queue, key)
    WHERE key IS NOT NULL AND state IN ('ready', 'scheduled', 'blocked', 'claimed');
CREATE INDEX tasks_state ON {schema}.tasks (queue, state, at, id) WHERE state <> 'ready';
CREATE INDEX tasks_key ON {schema}.tasks (queue, key, keyed) WHERE key IS NOT NULL;

CREATE TABLE {schema}.waits (  -- what a blocked task waits for: a task's id, or a key
    queue integer NOT NULL REFERENCES {schema}.queues ON DELETE CASCADE,
    ref text COLLATE "C" NOT NULL,
    is_id boolean NOT NULL,
    task uuid NOT NULL,
    PRIMARY KEY (ref, queue, is_id, task)
);
CREATE INDEX waits_task ON {schema}.waits (task, queue);

-- The one clock. It stands still within a statement, so what is taken or renewed never counts from later than it was asked.
CREATE FUNCTION {schema}.store_time() RETURNS double precision LANGUAGE sql STABLE
    AS $dibs$ SELECT extract(epoch FROM statement_timestamp())::double precision $dibs$;

-- The state of what a task waits for: by key, of the task that has or last had it.
CREATE FUNCTION {schema}.state_of(of_queue integer, of_ref text, by_id boolean) RETURNS text LANGUAGE sql STABLE
AS $dibs$
    SELECT CASE WHEN by_id
        THEN (SELECT nullif(t.state, 'leaving') FROM {schema}.tasks t WHERE t.queue = of_queue AND t.id = of_ref::uuid)
        ELSE (SELECT t.state FROM {schema}.tasks t WHERE t.queue = of_queue AND t.key = of_ref
              ORDER BY t.state IN ('ready', 'scheduled', 'blocked', 'claimed') DESC, t.keyed DESC, t.id DESC LIMIT 1)
    END::text
$dibs$;

-- For people: \d+ and SELECT * FROM overview.
CREATE VIEW {schema}.overview AS
    SELECT q.name AS queue, replace(t.id::text, '-', '') AS id, t.state::text COLLATE "C" AS state, t.key, t.priority, t.project,
           t.labels, t.epoch, t.attempts, t.deaths, nullif(t.holder, '') AS holder,
           CASE WHEN t.state = 'scheduled' THEN to_timestamp(t.at) END AS due,
           CASE WHEN t.state = 'claimed' THEN to_timestamp(t.at) END AS expires,
           CASE WHEN t.state IN ('completed', 'failed', 'cancelled') THEN to_timestamp(t.at) END AS ended,
           t.moved_to, t.record, t.history
    FROM {schema}.tasks t JOIN {schema}.queues q ON q.id = t.queue;
