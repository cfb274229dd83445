"""Canaries: live blocks run on copies beside their static code, and the test that watches the differences."""
