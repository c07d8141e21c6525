-- Version 1. Times are seconds since 1970 by the database's clock, except `beat`: boottime of the holder's own boot.
-- A text of the user's (key, project, label) has its backslashes doubled and NUL written as \0.

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

CREATE TABLE {schema}.tasks (  -- wide values first: what is in front of a column has to be stepped over to read it
    id uuid NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    deaths bigint NOT NULL DEFAULT 0,
    due double precision NOT NULL DEFAULT 0,  -- when scheduled: when it becomes ready
    ended double precision NOT NULL DEFAULT 0,
    since double precision NOT NULL DEFAULT 0,  -- of the latest lease: claimed, last renewed, runs out
    renewed double precision NOT NULL DEFAULT 0,
    expires double precision NOT NULL DEFAULT 0,
    ttl double precision NOT NULL DEFAULT 0,
    beat double precision NOT NULL DEFAULT 0,
    keyed double precision NOT NULL DEFAULT 0,  -- when it last took its key
    max_attempts bigint NOT NULL,
    max_deaths bigint NOT NULL,
    backoff double precision NOT NULL,
    max_backoff double precision NOT NULL,
    queue integer NOT NULL REFERENCES {schema}.queues ON DELETE CASCADE,
    priority integer NOT NULL,
    awaited boolean NOT NULL DEFAULT false,  -- another task was pushed to run after it
    state text COLLATE "C" NOT NULL CHECK (
        state IN ('ready', 'scheduled', 'blocked', 'claimed', 'completed', 'failed', 'cancelled', 'leaving')
    ),
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
    was text COLLATE "C",  -- when leaving, and no task of this queue any more: its state before, where to, and since when
    moved_to text,
    departed double precision,
    PRIMARY KEY (id, queue)  -- in this order, so that nobody takes it for a way to all tasks of a queue
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX tasks_ready ON {schema}.tasks (queue, (-priority), id) WHERE state = 'ready';
CREATE INDEX tasks_ready_project ON {schema}.tasks (queue, project, (-priority), id)
    WHERE state = 'ready' AND project IS NOT NULL;
CREATE INDEX tasks_ready_labels ON {schema}.tasks USING gin (labels) WHERE state = 'ready' AND labels <> '{}';
CREATE INDEX tasks_scheduled ON {schema}.tasks (queue, due, id) WHERE state = 'scheduled';
CREATE INDEX tasks_blocked ON {schema}.tasks (queue, id) WHERE state = 'blocked';
CREATE INDEX tasks_claimed ON {schema}.tasks (queue, expires) WHERE state = 'claimed';
CREATE INDEX tasks_completed ON {schema}.tasks (queue, ended) WHERE state = 'completed';
CREATE INDEX tasks_failed ON {schema}.tasks (queue, ended) WHERE state = 'failed';
CREATE INDEX tasks_cancelled ON {schema}.tasks (queue, ended) WHERE state = 'cancelled';
CREATE INDEX tasks_leaving ON {schema}.tasks (queue, id) WHERE state = 'leaving';
CREATE INDEX tasks_key ON {schema}.tasks (queue, key, keyed) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX tasks_live_key ON {schema}.tasks (queue, key)
    WHERE key IS NOT NULL AND state IN ('ready', 'scheduled', 'blocked', 'claimed');

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
CREATE FUNCTION {schema}.state_of(of_queue integer, of_ref text, by_id boolean) RETURNS text LANGUAGE sql STABLE AS $dibs$
    SELECT CASE WHEN by_id
        THEN (SELECT nullif(t.state, 'leaving') FROM {schema}.tasks t WHERE t.queue = of_queue AND t.id = of_ref::uuid)
        ELSE (SELECT t.state FROM {schema}.tasks t WHERE t.queue = of_queue AND t.key = of_ref
              ORDER BY t.state IN ('ready', 'scheduled', 'blocked', 'claimed') DESC, t.keyed DESC, t.id DESC LIMIT 1)
    END
$dibs$;

-- For people: \d+ and SELECT * FROM overview.
CREATE VIEW {schema}.overview AS
    SELECT q.name AS queue, replace(t.id::text, '-', '') AS id, t.state, t.key, t.priority, t.project, t.labels,
           t.epoch, t.attempts, t.deaths, nullif(t.holder, '') AS holder,
           to_timestamp(nullif(t.due, 0)) AS due,
           CASE WHEN t.state = 'claimed' THEN to_timestamp(t.expires) END AS expires,
           to_timestamp(nullif(t.ended, 0)) AS ended, t.moved_to, t.record, t.history
    FROM {schema}.tasks t JOIN {schema}.queues q ON q.id = t.queue;
