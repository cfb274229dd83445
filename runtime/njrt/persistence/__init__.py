"""What a run keeps on disk: the cache of replies, and recordings."""
