"""Files and stores for runs: the reply cache, and recordings."""
