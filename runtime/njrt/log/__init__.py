"""What is remembered: recordings, the cache, stores, traces, accounts, budgets."""
