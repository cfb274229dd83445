"""Files and stores of runs: the cache of replies, and recordings."""
