"""Contained code: the model's code in another process, as a transaction on the program's objects.

    for mail in mails:                  the program                      child process
        if is_spam(mail.text):          numbers, rows      ──────>       real lists and instances
            spam.append(mail)           is_spam("Win ...") <──────       what has changed so far
                                        what it changed    ──────>       its result
                                        check, apply       <──────       what has changed

The child is forked from a server that never held the program's memory, and a system call filter
leaves it only its socket, memory and clocks. The program does three things for it: it reads its own
data, applies changes to it after checking them, and calls functions and methods.

    wire       values and messages, for both sides
    contents   what each kind of object holds, and which have changed, for both sides
    state      objects by number, and what both sides know of them
    making     checking what has come, and making objects of it, for both sides
    apply      the program: applying changes, whole or not at all, and undoing them
    changes    the program: changes as data for people who decide about them
    program    the program: what is sent, what may change, what is called
    classes    the program: describing own classes; `travel`: methods that run in the child
    names      the program: the names of a block
    session    the program: commits and answers
    execute    the program: running a snippet in a child; `failures`: how it ends by an exception
    process    the program: starting the server and the children
    objects    the child: its side of `state`; `rebuild`: classes, functions and handles
    child      the child: running one piece of code; `loop`: its event loop
    known      classes that both sides have
    server     the process that forks the children; `seccomp`: the system call filter
"""
