"""Program runs, forward and back: under control, in a terminal, in an editor, and read from traces."""
