"""Static mode: at build time, a model writes the Python code that replaces a block.

SourceFile -> [Hole] -> (Request <-> Reply) -> code -> [refusal] -> njc.lock -> WrittenBlock ->
compiled file

lock         the lock file
context      the part of the program that is shown to the model
holes        the blocks to write code for, with their readable names and required outputs
checks       reasons to refuse code, each a message to the model
generate     the conversation with the model, as a generator without I/O; extracts code from replies
splice       locked code in the form of the compiled file
fit          a file with holes, and the checks of a hole
staleness    the state of each hole's code: locked, stale or missing
build        fills all holes of a build, from the lock or by asking models
folder       a folder as the writer: questions and answers are files
cases        the cases of a function, which its writer is shown
load         a file compiled in memory with its locked code
write        static builds on disk
"""
