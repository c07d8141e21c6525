-- Claims many and completes as many: one statement, one commit. Neither depends on the other; the claims come first, while what
-- the statement sees is still how it is: a row that others took since then costs more to pass over. The last row has the number
-- of those that were completed.
WITH taken AS (
{{grab}}
),
done AS (
{{complete_plain}}
    RETURNING 1
)
SELECT epoch, attempts, deaths, record, priority, NULL::bigint FROM taken
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, count(*) FROM done
