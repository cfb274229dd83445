"""njrt: the runtime that compiled natural programs import."""
