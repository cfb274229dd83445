"""SPSBench: 25 tasks, each as a program that shares its state with prompts and as one that does not.

natural.njpy      the prompt works on the program's own variables
manual.py         the prompt is sent out, and its answer put back, by hand

$ spsbench loc    how long the two are, beside the paper's numbers
"""
