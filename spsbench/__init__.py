"""SPSBench: 25 tasks, each with a program that shares its state with prompts and one that does not.

natural.njpy      the prompt works on the program's own variables
manual.py         the program sends the prompt and stores the answer itself

$ spsbench loc    the lengths of both, beside the paper's numbers
"""
