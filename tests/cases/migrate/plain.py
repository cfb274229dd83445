"""Sorts mails, with the help of a model."""

import nightjarpy as nj


@nj.fn
def sort(mails: list[str]) -> dict:
    folders = {}
    for mail in mails:
        # One mail at a time.
        """natural
        Continue if <mail> is spam. Else put it into <folders> under its <:topic>.
        """
        print(topic)
    return folders


if __name__ == "__main__":
    print(sort(["Buy now!", "Meeting at 10"]))
