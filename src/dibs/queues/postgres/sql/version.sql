SELECT max(version) FROM {schema}.versions
