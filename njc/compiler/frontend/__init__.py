"""From a source file to its natural blocks.

SourceFile  ->  Module  ->  [NaturalBlock]  and  [Diagnostic]
"""
