-- Version 2. A step writes less: one column `at` for the moment that counts in a task's state, one index over all states
-- but ready, states as a type of their own, which is compared faster than text, and no constraint that is checked for each row
-- (a push says that its queue is there; states come from one table of steps). Limits that only count when a lease is over are read
-- from the record.

CREATE TYPE {schema}.state AS ENUM (
    'ready', 'scheduled', 'blocked', 'claimed', 'completed', 'failed', 'cancelled', 'leaving'
);

CREATE OR REPLACE VIEW {schema}.overview AS  -- in place, so that rights on it stay; it must let go of the columns first
    SELECT q.name AS queue, replace(t.id::text, '-', '') AS id, NULL::text COLLATE "C" AS state, t.key, t.priority, t.project,
           t.labels, t.epoch, t.attempts, t.deaths, nullif(t.holder, '') AS holder,
           NULL::timestamptz AS due, NULL::timestamptz AS expires, NULL::timestamptz AS ended,
           t.moved_to, t.record, t.history
    FROM {schema}.tasks t JOIN {schema}.queues q ON q.id = t.queue;

DROP INDEX {schema}.tasks_scheduled, {schema}.tasks_blocked, {schema}.tasks_claimed, {schema}.tasks_completed,
           {schema}.tasks_failed, {schema}.tasks_cancelled, {schema}.tasks_leaving,
           {schema}.tasks_ready, {schema}.tasks_ready_project, {schema}.tasks_ready_labels, {schema}.tasks_live_key;
ALTER TABLE {schema}.tasks SET (fillfactor = 50);  -- a task's later versions fit beside it: less to log, and no new pages
ALTER TABLE {schema}.tasks RENAME COLUMN expires TO at;  -- when it is due, runs out, or ended
ALTER TABLE {schema}.tasks
    DROP CONSTRAINT tasks_queue_fkey,
    DROP CONSTRAINT tasks_state_check,
    ALTER COLUMN state TYPE {schema}.state USING state::{schema}.state,
    ALTER COLUMN was TYPE {schema}.state USING was::{schema}.state,
    ALTER COLUMN at TYPE double precision USING CASE coalesce(was, state)
        WHEN 'claimed' THEN at WHEN 'scheduled' THEN due
        WHEN 'completed' THEN ended WHEN 'failed' THEN ended WHEN 'cancelled' THEN ended ELSE 0 END;
ALTER TABLE {schema}.tasks
    DROP COLUMN due, DROP COLUMN ended,
    DROP COLUMN max_attempts, DROP COLUMN max_deaths, DROP COLUMN backoff, DROP COLUMN max_backoff;
CREATE INDEX tasks_ready ON {schema}.tasks (queue, (-priority), id) WHERE state = 'ready';
CREATE INDEX tasks_ready_project ON {schema}.tasks (queue, project, (-priority), id)
    WHERE state = 'ready' AND project IS NOT NULL;
CREATE INDEX tasks_ready_labels ON {schema}.tasks USING gin (labels) WHERE state = 'ready' AND labels <> '{}';
CREATE UNIQUE INDEX tasks_live_key ON {schema}.tasks (queue, key)
    WHERE key IS NOT NULL AND state IN ('ready', 'scheduled', 'blocked', 'claimed');
CREATE INDEX tasks_state ON {schema}.tasks (queue, state, at, id) WHERE state <> 'ready';

CREATE OR REPLACE VIEW {schema}.overview AS
    SELECT q.name AS queue, replace(t.id::text, '-', '') AS id, t.state::text COLLATE "C" AS state, t.key, t.priority, t.project,
           t.labels, t.epoch, t.attempts, t.deaths, nullif(t.holder, '') AS holder,
           CASE WHEN t.state = 'scheduled' THEN to_timestamp(t.at) END AS due,
           CASE WHEN t.state = 'claimed' THEN to_timestamp(t.at) END AS expires,
           CASE WHEN t.state IN ('completed', 'failed', 'cancelled') THEN to_timestamp(t.at) END AS ended,
           t.moved_to, t.record, t.history
    FROM {schema}.tasks t JOIN {schema}.queues q ON q.id = t.queue;

CREATE OR REPLACE FUNCTION {schema}.state_of(of_queue integer, of_ref text, by_id boolean) RETURNS text LANGUAGE sql STABLE
AS $dibs$
    SELECT CASE WHEN by_id
        THEN (SELECT nullif(t.state, 'leaving') FROM {schema}.tasks t WHERE t.queue = of_queue AND t.id = of_ref::uuid)
        ELSE (SELECT t.state FROM {schema}.tasks t WHERE t.queue = of_queue AND t.key = of_ref
              ORDER BY t.state IN ('ready', 'scheduled', 'blocked', 'claimed') DESC, t.keyed DESC, t.id DESC LIMIT 1)
    END::text
$dibs$;
