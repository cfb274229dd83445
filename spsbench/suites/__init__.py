"""Other people's suites of tasks, each in several forms: `spsbench suite`."""
