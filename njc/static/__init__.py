"""Static mode: a model writes the Python that replaces a block when the program is built.

SourceFile -> [Hole] -> (Request <-> Reply) -> code -> [refusal] -> njc.lock -> WrittenBlock -> compiled file

lock           the lock file
context        the part of the program that the model is shown
fresh_names    names that the program does not use
holes          the blocks that code is written for: what it may read and must bind
checks/        reasons to refuse code, each a message to the model
prompt         the prompts, and finding code in a reply
extract        the code of the hole from a reply that holds more or less than that
generate       the conversation with the model, as a generator without I/O
format         accepted code as it is locked: fresh names, formatted
splice         locked code as the compiled file has it
guards         shapes from annotations, for the mode `auto`
fit            a file with holes; the checks of one hole
author         the model that writes, by the options of a block
staleness      for each hole: is its code locked, stale or missing
build          all holes of a build: from the lock, or by asking models
files          the same on disk
"""
