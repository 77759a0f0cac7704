"""Words that every room shares: errors, schemas, stages, ids, configs, taxonomies, storage and the ledger."""
