"""The program's variables as a block sees them: cells, namespaces, output types, printed text."""
