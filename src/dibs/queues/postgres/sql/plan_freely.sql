SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on; SET LOCAL plan_cache_mode = force_custom_plan
