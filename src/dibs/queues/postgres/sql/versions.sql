CREATE TABLE IF NOT EXISTS {schema}.versions (
    version integer PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    by text NOT NULL
)
