# compiled by njc 0.3.0 from many_arguments.njpy (sha256 2e9088047782064e, abi 1)
# do not edit: change many_arguments.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj


def f(first_argument_of_many, second_argument_of_many, third_argument_of_many, fourth):
    result_with_a_long_name: dict[str, list[int]]
    another_result: tuple[int, ...]
    _nj.run(
        """natural(model="openai/some-model-with-a-long-name", base_url="http://127.0.0.1:8000/v1/a/long/path")
    From <first_argument_of_many>, <second_argument_of_many>, <third_argument_of_many> and <fourth> make a
    <:result_with_a_long_name: dict[str, list[int]]> and <:another_result: tuple[int, ...]>.
    """,
        lambda: (
            first_argument_of_many,
            second_argument_of_many,
            third_argument_of_many,
            fourth,
            result_with_a_long_name,
            another_result,
        ),
        writes="result_with_a_long_name another_result",
        types=lambda: {
            "result_with_a_long_name": dict[str, list[int]],
            "another_result": tuple[int, ...],
        },
        at="many_arguments.njpy:2",
        model="openai/some-model-with-a-long-name",
        base_url="http://127.0.0.1:8000/v1/a/long/path",
    )
    return result_with_a_long_name, another_result


def g(one_name_that_is_so_long_that_not_even_a_line_of_its_own_is_enough_for_it_and_its_lambda):
    _nj.run(
        """natural
    Use <one_name_that_is_so_long_that_not_even_a_line_of_its_own_is_enough_for_it_and_its_lambda>.
    """,
        lambda: (
            one_name_that_is_so_long_that_not_even_a_line_of_its_own_is_enough_for_it_and_its_lambda,
        ),
        at="many_arguments.njpy:10",
    )


# njc lines 1=1 7:1 9=2 12:3 15=2 32:6 37=10 38:11 40=10 45=13 sha256 f68a78b03d20b994
