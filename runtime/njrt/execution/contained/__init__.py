"""Contained code: the model's code in another process, with references to the program's objects.

    for mail in mails:                  child process                     the program
        if is_spam(mail.text):          iter(mails)            ──────>    the real iterator
            spam.append(mail)           mail.text              ──────>    the door: is it allowed? getattr(mail, "text")
                                        is_spam("Win ...")     ──────>    the program's own function
                                        spam.append(mail)      ──────>    the program's own list

The child is forked from a server that never held the program's memory, and a system call filter leaves it only its
socket, memory and clocks. Plain immutable values cross by value, and all other objects of the program as references:
the same object is always the same proxy. Each operation on a reference is one message through the door (`door.py`),
which checks it against the real object.

    wire       values and messages, for both sides
    proxies    the child: proxies for the classes and objects of the program
    child      the child: running one piece of code
    server     the process that forks the children
    seccomp    the system call filter
    door       the program: references, checks, operations
    authority  the program: library members that do more than their object
    process    the program: starting the server and the children
    execute    the program: running a snippet in a child
"""
