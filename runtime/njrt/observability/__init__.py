"""What a run reports: accounts of calls, tokens and cost; logs; traces; OpenTelemetry spans."""
