"""Servers for editors: the Debug Adapter Protocol and the Language Server Protocol."""
