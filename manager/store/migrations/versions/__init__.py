"""One module per revision of the schema, found and loaded by Alembic; never changed later."""
