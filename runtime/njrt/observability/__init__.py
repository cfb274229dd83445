"""Accounts of calls, tokens and cost; logs; traces; OpenTelemetry spans."""
