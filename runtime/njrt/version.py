"""The version of the distributions `njpy-runtime` and `njpy`."""

__version__ = "0.3.0"
