"""Guests import the runtime, which imports none of them."""
