"""Accounts of calls, tokens and cost, traces, and OpenTelemetry spans."""
