"""Run the model's Python on the program's variables.

"total = sum(xs)\nbreak"  ->  Snippet  ->  Ran | Jumped | Failed
"""
