"""Program runs, forward and back: controlled, in a terminal, in an editor, and from traces."""
