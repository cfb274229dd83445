import asyncio

import nightjarpy


def logged(function):
    return function


class Shop:
    # A method with two decorators.
    @staticmethod
    @nightjarpy.fn  # the natural one
    def price(thing):
        """natural
        Guess the <:price> of <thing>.
        """
        return price

    @logged
    # This one stays above the function.
    @nightjarpy.fn()
    async def order(self, things):
        async def one(thing):
            """natural
            Add <thing> to <self>.stock, and return True.
            """

        return await asyncio.gather(*map(one, things))

    @nightjarpy.fn
    def only(self): """natural
        Empty <self>.stock.
        """
