"""The compiler's findings: each has a code, a place, a message and often a hint.

    mailbox.njpy:12:14: error[NJ201]: `quer` is not defined here
       12 |     Perform the <quer> with respect to <graph>.
          |                 ^^^^^^
          = help: did you mean `query`?

A `Diagnostic` is the user's mistake, reported together with all others; a bug in njc is a
traceback. `CODES` contains every code with its meaning: `njc explain` and a page of the site are
made from it. `# njc: ignore[NJ204]` above or after the place silences a finding, if the program can
still be compiled.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from njc.frontend.source import SourceFile
from njrt.records import record

Severity = Literal["error", "warning", "hint"]
"""A hint is shown only on request: `njc check --hints`."""


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """A finding. Lines and columns count from 1, columns in characters; the end is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    severity: Severity
    message: str
    hint: str | None = field(default=None, compare=False)
    replacement: str | None = field(default=None, compare=False)
    """The replacement for the range, if there is only one right correction: `njc check --fix`."""
    imports: str = field(default="", compare=False)
    """The import that the replacement needs."""


@record
class DiagnosticCode:
    """A code's meaning: a title, its severity, a paragraph, and whether it can be ignored."""

    title: str
    explanation: str
    severity: Severity
    fatal: bool = False
    """Whether the finding leaves nothing to compile, so that `# njc: ignore` cannot silence it."""


_fatal = partial(DiagnosticCode, severity="error", fatal=True)
_error = partial(DiagnosticCode, severity="error")
_warning = partial(DiagnosticCode, severity="warning")
_hint = partial(DiagnosticCode, severity="hint")


CODES: Mapping[str, DiagnosticCode] = {
    "NJ001": _fatal(
        "not Python",
        "A .njpy file is a Python file with natural blocks as some of its strings, so it must first"
        " be Python. The message comes from the Python that runs njc.",
    ),
    "NJ002": _fatal(
        "not text",
        "The bytes of the file are not text in the encoding that its byte order mark or its coding "
        "comment names (the default is UTF-8). Save the file as UTF-8, or correct the comment.",
    ),
    "NJ003": _fatal(
        "wrong option in a comment",
        "A comment `# njc: key=value` sets options for the whole file. The option must exist and"
        " the value must suit it. Otherwise the program would run with other options than its text"
        " shows.",
    ),
    "NJ004": _warning(
        "option comment without effect",
        "A comment `# njc: key=value` counts only before the first statement of the file. Move it "
        'there, or write the option on the block: `"""natural(key=value)`.',
    ),
    "NJ005": _warning(
        "comment not understood",
        "A comment that starts with `# njc:` is neither an option nor `ignore`, or it ignores a"
        " code that does not exist or cannot be ignored. Write `# njc: ignore[NJ204, NJ301]` above"
        " the place or at its end.",
    ),
    "NJ101": _fatal(
        "block after `;` in a one-line suite",
        "In `if x: a = 1; ` followed by a natural block, the suite is on the line of its header. To"
        " compile the block, njc would have to move the statements before it, and it changes"
        " nothing outside of blocks. Put each statement of the suite on a separate line, below the"
        " header.",
    ),
    "NJ102": _fatal(
        "block beside a backslash continuation",
        "A natural block is replaced by several lines, which cannot follow or precede a line that"
        " ends with a backslash. Remove the backslash.",
    ),
    "NJ103": _warning(
        "nearly a natural block",
        "The string is a statement, and its first word is `natural` or it has an output such as"
        " `<:name>`, but Python will treat it as a string that does nothing. A natural block is one"
        " triple-quoted string without parentheses. Its first line has the word `natural` in small"
        ' letters and nothing else but options: `"""natural` or `"""natural(max_effects=20)`.',
    ),
    "NJ104": _fatal(
        "wrong option on a block",
        "Options are keyword arguments with literal values on the marker line:"
        ' `"""natural(model="openai/gpt-4.1", max_effects=20)`. The option must exist and the value'
        " must suit it.",
    ),
    "NJ105": _fatal(
        "block before a future import",
        "`from __future__ import ...` must come before every statement but the docstring, and a "
        "natural block is a statement. Move the block below the import.",
    ),
    "NJ106": _error(
        "natural block as a value",
        "The string starts like a natural block, but it is assigned, returned, passed or joined to"
        " another string, so Python would treat it as text. A natural block is a whole statement"
        " and has no value: let it bind a variable by `<:name>`, and use that. If you mean text,"
        " start it with another word or ignore this finding.",
    ),
    "NJ107": _fatal(
        "compiled block refused by Python",
        "The source is Python, but the file with the calls in the place of the blocks is not."
        " Python compiles at most 20 nested loops, `with` and `try` suites (21 from 3.13 on), and"
        " fewer than 100 levels of indentation, and the call of a block can need a `try` around it."
        " Move the inner part into a separate function.",
    ),
    "NJ108": _error(
        "misspelled marker",
        "The string is a statement, and its first line is one word that is nearly `natural` "
        "or `prompt`: a letter is wrong, missing, added or exchanged with the next, as in "
        '`"""naturl`, or a punctuation mark follows, as in `"""natural:`. Python would treat '
        "the string as text that does nothing. A word that may be the summary of a docstring, "
        "such as `Prompts`, is reported only if the string has an output, such as `<:name>`.",
    ),
    "NJ201": _error(
        "undefined name",
        "The block reads a variable by `<name>` that is not bound in the function, in the functions"
        " around it, in the module, or in Python's builtins. Correct the name; if the angle"
        " brackets are meant as text, as in HTML, double the first: `<<name>`. A name in the type"
        " of an output is reported, too: without it, the values of the output would not be"
        " checked.",
    ),
    "NJ202": _fatal(
        "not a name",
        "A block can bind only names that an assignment can bind: not a keyword, and not a name"
        " that Python reserves, such as `__debug__`.",
    ),
    "NJ203": _warning(
        "keyword in angle brackets",
        "`<class>` or `<None>` names no variable, so it is plain text to the model. Write"
        " `<<class>` to mark it as text.",
    ),
    "NJ204": _warning(
        "output never used",
        "The block binds `<:name>`, and nothing in the function reads the variable afterwards."
        " Remove the output, or use it. Names that start with an underscore are not reported.",
    ),
    "NJ205": _warning(
        "variable possibly unbound",
        "A path to this use runs nothing that binds the variable. If only natural blocks bind it,"
        " one such path is enough for the finding: a condition is false, the body of a loop never"
        " runs, an exception is caught or suppressed, or `del` has unbound it. A variable that a"
        " block reads is reported if no path binds it. Bind it before, or use it only after the"
        " block has run.",
    ),
    "NJ206": _fatal(
        "cannot be bound here",
        "Python resolves the name to a variable that an assignment at this place could not bind."
        " The message names the reason.",
    ),
    "NJ207": _error(
        "malformed output",
        "An output is `<:name>`, `<:name.attribute>` or `<:name: TYPE>` with any Python annotation,"
        " such as `<:total: float>` or `<:ids: list[str]>`. This text is nearly an output, so the"
        " angle brackets are plain text and bind nothing. Correct it, or double the first bracket"
        " to mark it as text.",
    ),
    "NJ208": _warning(
        "nearly a reference",
        "The text in angle brackets is nearly a reference: it has blanks beside the name, a"
        " subscript, a call, several names, a type on a variable that is only read, no closing"
        " bracket, or a closing `</name>` behind it. A reference is `<name>`, `<name.attribute>`,"
        " `<:name>` or `<:name: TYPE>`; all else is plain text. `<<` is the text `<`.",
    ),
    "NJ209": _warning(
        "builtin in angle brackets",
        "`<input>` or `<list>` names the builtin of Python, because the program has no variable of"
        " that name. A block has the builtins without a reference. A reference allows a builtin"
        " that the guard otherwise refuses, such as `open` and `input`. If text is meant, as in"
        " XML, write `<<input>`; an element with a closing tag, `<input>...</input>`, is text.",
    ),
    "NJ210": _warning(
        "braces without an f-string",
        '`{name}` is filled in only in an f-string block, `f"""natural`. In any other prompt it is'
        " plain text. Write `<name>` to refer to the variable.",
    ),
    "NJ211": _warning(
        "block that can do nothing",
        "The block has no output, its text names no jump that is legal here and neither "
        "`print` nor `raise`, and nothing that it reads can be changed or called. So the "
        "program is the same after it. Name its result by `<:name>`, the variable that it "
        "changes, the function that it calls by `<name>`, or the jump that it takes.",
    ),
    "NJ212": _hint(
        "output that hides a variable",
        "Only blocks bind this output in the function, so it is a local variable, as after an"
        " assignment. A variable around the function has the same name, and keeps its value. If"
        " that is the one that the block is to bind, declare it `global` or `nonlocal` in the"
        " function.",
    ),
    "NJ213": _warning(
        "output that is not named",
        "The block has no output, and the code below it reads a variable that nothing binds. "
        "The result of a block, such as a summary, reaches the program only by an output. "
        "Name it by `<:name>`.",
    ),
    "NJ214": _error(
        "block that cannot be contained",
        'With `policy="contained"` the code of a block runs in a separate process. Code in the body'
        " of a class cannot, because it runs on the namespace of the class; a block that binds a"
        " function, a class or an iterator cannot, because these end with the process, and one that"
        " sets an attribute with an underscore before its name cannot, because such names are"
        " refused there. Move the block into a function, let it bind data, or choose"
        ' `policy="guarded"`.',
    ),
    "NJ215": _warning(
        "output of two types",
        "An output has one type: if a block gives it two, the first one counts. A type that shares"
        " no value with the variable's annotation, or with its type in another block of the"
        " function, is a contradiction that type checkers report, too. Write the type once, or use"
        " a second name. An output with the name of its type, as in `<:date: date>`, hides the type"
        " in a function and after the first round of a loop: its values are not checked. An"
        " annotation that is a function, such as `-> callable`, checks no values either.",
    ),
    "NJ216": _error(
        "attribute that cannot be set",
        "The block is to set an attribute that Python refuses to set, by the type of its object: a"
        " field of a named tuple or of a frozen class, a property without a setter, a member of an"
        " enum, an attribute that `__slots__` lacks, or one of a number, a text or another value of"
        " a builtin type. Bind the variable itself with a new object, or change the class.",
    ),
    "NJ217": _warning(
        "name without brackets",
        "The text refers to no variable, but has the name of a parameter or of another "
        "variable of the function. Without brackets a name is plain text, and the model is "
        "not shown the value: write `<name>`.",
    ),
    "NJ301": _warning(
        "control word without effect",
        "The text names break, continue or return, but that statement would not be legal at this"
        " place (no loop around the block, not in a function, inside `except*`), so the model"
        " cannot do it. Move the block, or choose another word.",
    ),
    "NJ302": _warning(
        "jump out of `finally`",
        "A break, continue or return that leaves a `finally` suite discards the exception that is"
        " being raised. Python warns of such jumps from 3.14 (PEP 765), and njc does not offer them"
        " to the model. Move the block out of the `finally` suite.",
    ),
    "NJ303": _warning(
        "jump that is meant, not named",
        "A block is offered the jumps that its text names. This text has a word that often "
        "means a jump, `skip` or `stop`, and does not name it. Write `break`, `continue` or "
        '`return` if the block may jump; `jumps="all"` offers all legal jumps. Words after '
        '"not", "never" or "without" and words in quotes are not reported.',
    ),
    "NJ304": _hint(
        "code because an annotation is missing",
        "The model of this block may run code, because the compiler cannot prove that data is"
        " enough: an output has no type or a type that njc does not see, or the annotation of a"
        " variable that the text reads allows changes. The hint proposes a correction, after which"
        ' the block answers with data: an annotation, a frozen class, or `effects="answer"`, which'
        " promises that it only reads. `njc show` gives the reason for each block with code.",
    ),
    "NJ305": _warning(
        "change of a value that is only read",
        "A sentence has a verb that changes its object, such as `sort` or `increase`, "
        "directly before a variable that the block only reads, and no output: the type of the "
        "variable allows no change, or it is a number or a text, and then a change is a new "
        "binding. To bind the variable, write `<:name>`; to change its object, annotate it "
        "with a type that can be changed; for a new value, name an output. The finding "
        "changes nothing in the compiled file.",
    ),
    "NJ306": _warning(
        "negated jump",
        "The text has a word that names a jump, but only forbids it, as in `never break`. "
        "Such a word offers no jump. Any other word that names a jump offers it, also as a "
        "noun, as in `a coffee break`.",
    ),
    "NJ307": _hint(
        "assert that is not a contract",
        "The asserts directly after a block are its contract: the model is asked again if its reply"
        " breaks one. Only those count that compute, because they are evaluated more than once."
        " This one binds a name, waits, or calls a function of the program or an imported one that"
        " may do more; Python checks it after the block, like any other assert.",
    ),
    "NJ308": _hint(
        "missing annotation",
        "The code around a block suggests the type of an output or a parameter, as a field that it"
        " is put into does, but no annotation states it. With the annotation the model is given the"
        " type, its reply is checked, and the block may need no code. `njc check --hints --fix`"
        " writes it.",
    ),
    "NJ309": _fatal(
        "loop that cannot ask ahead",
        "`natural(ahead=8)` sends the first requests of the next iterations together with that of"
        " this one. The block must stand directly in a `for` loop of a function or a module, answer"
        " with data, and read only the loop's variables, which are names, and variables that the"
        " loop neither assigns nor changes: otherwise the requests would be made in vain. Move what"
        " the loop computes behind it or into the list that it goes through, or leave out `ahead`.",
    ),
    "NJ310": _hint(
        "loop that could ask ahead",
        "Each iteration of the loop waits for its reply, and none reads what another one computes."
        " With `natural(ahead=8)` eight requests are sent at the same time: results are those of"
        " the plain loop, and a loop that ends early pays for at most seven requests more.",
    ),
    "NJ401": _fatal(
        "no code for a static block",
        "A model was asked for the Python code of this block, and none of its attempts passed the"
        " checks. The file that the message names has each attempt with the reasons for its"
        ' refusal. Make the prompt more precise, let the block run live by `mode="live"`, or let it'
        ' fall back to that by `fallback="live"`.',
    ),
    "NJ402": _fatal(
        "static block not locked",
        "A build with `--locked`, `--check` or `--diff` asks no model, and njc.lock has no code for"
        " this block, or has code for an earlier version of the block. Build without the flag,"
        ' review the changes of njc.lock, and commit it. With `fallback="live"`, the block stays'
        " live instead, which the build reports.",
    ),
    "NJ403": _fatal(
        "edited code out of date",
        "The code of this block was edited in njc.lock, and the block has changed since. njc never "
        "overwrites code that a person wrote: `njc lock --keep BLOCK` confirms the code for the "
        "changed block, `njc lock --update BLOCK` has it written again.",
    ),
    "NJ404": _fatal(
        "locked code refused",
        "The code in njc.lock does not pass the checks that generated code must pass: an edit has"
        " broken it, or the checks of this njc are stricter. Or the entry is `live`, and the block"
        ' does not have `fallback="live"`. Correct it in njc.lock, or have it generated again by'
        " `njc lock --update BLOCK`.",
    ),
    "NJ405": _fatal(
        "no code for a block of the mode `reviewed`",
        'In `mode="reviewed"`, a block either answers with data, or has code in njc.lock that was'
        " written when the program was built. This block needs code, and its text or its effects"
        " are known only when the program runs. Write types with which it answers with data, or let"
        ' a model write its code at run time by `mode="live"` on the block.',
    ),
    "NJ406": _fatal(
        "unsigned code",
        'In `mode="reviewed"`, `njc build --locked` uses only code that a person has read and'
        " signed. Read the code in njc.lock, and sign it by `njc lock --reviewed BLOCK`; a change"
        " of the code ends the signature. `--unreviewed` builds without signatures.",
    ),
}


def make_diagnostic(
    source: SourceFile,
    code: str,
    start: int,
    end: int,
    message: str,
    hint: str | None = None,
    replacement: str | None = None,
) -> Diagnostic:
    """Make the diagnostic for a range of offsets in the source text."""
    at = (*source.place(start), *source.place(max(end, start + 1)))
    severity = CODES[code].severity
    return Diagnostic(source.path, *at, code, severity, message, hint, replacement)


def render_diagnostic(diagnostic: Diagnostic, source: SourceFile | None = None) -> str:
    """Format a diagnostic for people: its place and message, the line with a caret, and a hint."""
    at = f"{diagnostic.path}:{diagnostic.line}:{diagnostic.column}"
    rows = [f"{at}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    gutter = " " * max(5, len(str(diagnostic.line)))
    if source is not None and diagnostic.code != "NJ002":
        line, first = source.line(diagnostic.line).rstrip("\r\n"), diagnostic.column - 1
        end = diagnostic.end_column - 1 if diagnostic.end_line == diagnostic.line else len(line)
        start = max(0, first - _MOST_SHOWN // 2) if len(line) > _MOST_SHOWN else 0
        stop = start + _MOST_SHOWN
        lead, tail = "…" * (start > 0), "…" * (len(line) > stop)
        before, marked, after = (
            _CONTROL_CHARACTERS.sub(" ", line[slice(*part)])
            for part in ((start, first), (first, min(end, stop)), (min(end, stop), stop))
        )
        carets = "^" * max(1, sum(map(_count_cells, marked)))
        rows.append(f"{diagnostic.line:>5} | {lead}{before}{marked}{after}{tail}")
        rows.append(f"{gutter} | {_make_blanks(lead + before)}{carets}")
    if diagnostic.hint:
        rows.append(f"{gutter} = help: {diagnostic.hint}")
    return "\n".join(rows)


_MOST_SHOWN = 200
"""The most characters of a source line that are shown: a line may have thousands of findings."""
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""Control characters that a terminal would obey; a tab is harmless."""


def _count_cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _make_blanks(text: str) -> str:
    """Return blanks as wide as `text`; tabs are kept, so that each is as wide as the one above."""
    return "".join("\t" if each == "\t" else " " * _count_cells(each) for each in text)
