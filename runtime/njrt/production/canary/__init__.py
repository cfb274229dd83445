"""Canaries: the live block run beside its static code on copies, and the test that watches the differences."""
