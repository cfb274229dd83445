"""njc: the ahead-of-time compiler for natural code."""

__version__ = "0.2.0"
