"""The debugger for editors: the Debug Adapter Protocol over standard input and output."""
