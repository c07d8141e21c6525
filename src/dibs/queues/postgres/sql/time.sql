SELECT {schema}.store_time()
