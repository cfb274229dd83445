"""The debugger of natural code for terminals: `njc debug`, full-screen or by lines."""
