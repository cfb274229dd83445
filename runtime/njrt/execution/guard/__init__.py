"""Refuse code with effects by default. A guard against accidents, not a sandbox (SECURITY.md)."""
