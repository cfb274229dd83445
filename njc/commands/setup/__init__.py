"""Commands for an installation and a project: a new one, checks, the cache, migration, the skill."""
