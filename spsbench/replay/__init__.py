"""Replay the traces of other people's runs on this runtime."""
