"""The program's variables as a block sees them: cells and namespaces, the types of outputs, printed text."""
