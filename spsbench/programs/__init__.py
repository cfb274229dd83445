"""The 25 tasks, one folder each.

natural.njpy   the task as a natural program
manual.py      the task with isolated model calls
task.py        TASK: how a program is played, and what is checked
script.py      SCRIPT: what a perfect model says, and a slip that the checks must catch
"""
