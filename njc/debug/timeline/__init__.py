"""Programs under control: stopping before their steps, going back, changing what comes next."""
