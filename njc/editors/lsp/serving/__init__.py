"""The protocol side: reading messages, answering requests, publishing findings."""
