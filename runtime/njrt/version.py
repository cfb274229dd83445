"""The version of the distribution `njpy-runtime`, which is also that of `njpy`."""

__version__ = "0.2.0"
