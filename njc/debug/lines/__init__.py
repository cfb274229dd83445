"""The debugger of natural code for terminals: `njc debug`."""
