"""A program, and a predictor of its steps with right answers, for debuggers of predictions."""

PROGRAM = """\
def fact(n):
    if n < 2:
        return 1
    k = fact(n - 1)
    return n * k
"""
ORACLE = """\
from spsbench.neural.debugging import DebugPredictor
from spsbench.states.actions import ActionStep, find_target
from spsbench.states.programs import record_call
from spsbench.states.trace import list_stacks


class Oracle(DebugPredictor):
    '''Right answers for the calls in a file, but for step_into, which changes nothing.'''

    def predict(self, source, state, action, line):
        if action == "inv_step_into":
            raise ValueError("the answer is not a state")
        for call in self.debugger:
            states = record_call(source, call).trace.states
            stacks = list_stacks(states)
            if state in stacks:
                if action == "step_into":
                    return state
                found = find_target(states, ActionStep(stacks.index(state), action, line))
                return None if found is None else stacks[found]


def open_predictor(path):
    return Oracle(path.read_text().split("\\n"))
"""
