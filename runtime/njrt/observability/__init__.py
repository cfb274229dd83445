"""Accounts of calls, tokens and cost, logs, traces, and OpenTelemetry spans."""
