"""njc: the ahead-of-time compiler for natural code."""

__version__ = "0.1.0"
