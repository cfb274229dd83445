"""What is made of a model's reply: the code in it."""

from __future__ import annotations

import pytest

from njc.static.generate import extract_code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("Sure:\n\n```py\n    x = 1\n    y = 2\n```\nThat is it.", "x = 1\ny = 2\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("x = 1", "x = 1\n"),
        ("```python\nx = 1\n```\n```python\nprint(x)\n```", "x = 1\n"),
        ("```python\r\nx = 1\r\n```", "x = 1\n"),
        ("I cannot.", ""),
        ("```python\n\n```", ""),
        ("", ""),
    ],
)
def test_code_in_a_reply(text: str, code: str) -> None:
    assert extract_code(text) == code
