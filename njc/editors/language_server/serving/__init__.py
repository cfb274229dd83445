"""The protocol: reading messages, answering requests, publishing findings."""
