# compiled by njc 0.2.0 from average_of_three/natural.njpy (sha256 9ced5f83dcc411ea, options cc2447ed8334793a, code 401250499f687035, abi 1)
# do not edit: change average_of_three/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 1 of 3 checks of its program (answered by a script)
"""The average of three numbers that people wrote down, each in their own way."""


def average_of_three(p: float | str, q: float | str, r: float | str) -> float:
    # natural
    # Understand <p>, <q> and <r> as numbers, whether they are digits or words of any language,
    # and store their average in <:average: float>.
    average: float
    average = (p + q + r) / 3
    # end of natural block
    return average


# njc lines 1=1 4:1 9=5 14:9 15=10 sha256 e2bb4add7c1a9b7b
