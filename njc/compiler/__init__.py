"""Compile a `.njpy` file: parse, analyze, generate. Nothing here does I/O."""
