"""Texts that change an input in words that no list has: `njc check --hints --fix` never takes their code away (NJ304)."""

from __future__ import annotations

import pytest

from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.options import Options

PROGRAM = '''def f(items: list[str], words: list[str]) -> int:
    """natural
    {}
    """
    return n
'''
CHANGING = """\
Tidy <items> up, then say how many there were in <:n: int>.
After reading <items>, drop the ones that look like spam; put the count into <:n: int>.
Rank <items> best first, in place, and put the winner's index into <:n: int>.
Put how many of <items> are rude into <:n: int>, and blank those out.
Let <:n: int> be the number of <items>; each of them should afterwards be lower case.
<items> must no longer contain duplicates afterwards. <:n: int> is how many went.
Decide whether <items> is too long; if so trim it. <:n: int> is the final length.
Normalise the spelling throughout <items> and give the number of corrections as <:n: int>.
Count the rude ones of <items> into <:n: int>. Replace each by '***'.
Insert the missing month into <items>. <:n: int> is where.
Give <:n: int> the count of vowels, and reverse <items>.
Fix typos in <items>; <:n: int> counts them.
Pop the last of <items> and put its length into <:n: int>.
<:n: int> is the number of <items>, which you also sort.
Make <items> polite. Set <:n: int> to the number of edits.
Swap the first two <items> if the second is friendlier; <:n: int> is 1 if so.
Write the number of complaints into <:n: int> and mark them in <items> with an asterisk.
Have <items> end with a summary line; <:n: int> is the number of lines before.
Censor <items>. <:n: int>: how many were censored.
Each of <items> gets a trailing period if it lacks one. Put how many did into <:n: int>.
Shuffle <items>, and put the first one's length into <:n: int>.
Clean out <items> (keep nothing) and report how many there were as <:n: int>.
Translate <items> to French in place; <:n: int> is the number of words.
Lowercase all of <items>; count the words into <:n: int>.
Put into <:n: int> the number of errors in <items>, correcting them as you go.
Move the rude ones of <items> to the end. How many? <:n: int>
Fill the empty ones of <items> with a guess, <:n: int> of them.
Put the most urgent one of <items> first and its length into <:n: int>.
Decide which of <items> are spam, get rid of them, and put how many into <:n: int>.
Find the typos in <items>, repair them and put their number into <:n: int>.
Read <items>. Whatever is rude becomes '***'. Put the number into <:n: int>.
Check <items> for duplicates; only the first of each may stay. <:n: int> is the rest.
Set <:n: int> to the number of <items> after tidying them.
Set <:n: int> to the number of <items> left once the rude ones are gone.
Count <items> into <:n: int> while emptying it.
Put the count into <:n: int> and capitalise <items>.
<:n: int> is the number of <items> you had to shorten to ten letters.
For each of <items>, strip the greeting; put how many had one into <:n: int>.
If one of <items> is empty, fill it with a guess. Put the number into <:n: int>.
When <items> has more than ten entries shorten it to ten. Put the length into <:n: int>.
Choose the best of <items>, leave only it there, and put its index into <:n: int>.
Put into <:n: int> how many of <items> are rude, then soften these.
Determine the language of <items> and translate them, <:n: int> counting the words.
Write <:n: int> as the number of <items>, each of which you also shorten.
Summarize <items> to one entry, in <items> itself; <:n: int> is its length.
Correct <items> and put the number of corrections into <:n: int>.
Put the length of <items> into <:n: int>, sorted by urgency.
Examine <items> and anonymise names in it. Put the number of names into <:n: int>.
Of <items>, keep the three best; put the sum of their lengths into <:n: int>.
Set <:n: int> to 1 and let <items> start with a greeting.
Put the number of <items> into <:n: int>. Afterwards <items> is empty.
Compare the first two <items>, swapping them if needed, and put 1 or 0 into <:n: int>.
Give <:n: int> the number of <items>. Leave just the polite ones.
Classify <items>: spam goes. Put how many went into <:n: int>.
Put into <:n: int> the number of <items> (and lowercase them).
Extract the numbers from <items> so that only words remain, their sum into <:n: int>.
In <items>, expand abbreviations. Put their number into <:n: int>.
Please have a look at <items>: anything rude should be reworded. <:n: int> is how many.
Put into <:n: int> how many of <items> are wrong and right them.
Sum the amounts of <items> into <:n: int>, rounding each entry to a whole number there.
Say in <:n: int> how many of <items> rhyme. Those which do not: improve.
Estimate the value of <items>, write the estimate to <:n: int>, and write it under each entry of <items> too.
Pick one of <items> as the winner, take it from the list, and set <:n: int> to its position.
Set <:n: int> to how many of <items> were translated by you.
Look through <items>. Where a name is misspelt, spell it right. Count these in <:n: int>.
Detect duplicates in <items>; merge. <:n: int> gets the number.
Identify the outliers among <items> and cap at 100; give <:n: int> their number.
<:n: int> is the count after <items> was deduplicated by you.
Put the number of <items> into <:n: int>, having sorted them by date.
Find the headline among <items> and uppercase that entry; its index is <:n: int>.
Of <items> choose three at random, to which you add a star, and set <:n: int> to the index of the best.
Read <items> and answer each question in it below the question; <:n: int> is the number of questions.
Score <items>, writing the score behind each; the highest is <:n: int>.
Compute the average length of <items> as <:n: int>; pad the shorter ones.
Decide if <items> needs a heading (add one if it does) and set <:n: int> to 1 or 0.
Describe in <items> what you see there, using <:n: int> words.
Consider <items> as a stack: process it until empty, counting in <:n: int>.
""".splitlines()
JUDGING = """\
Parse and compute the average of <items>, <words> and store it in <:n: int> as a number.
Does the length <words> satisfy the user query: <items>, assign your answer to <:n: int>.
Does <words> match <items>? Is it a real word? If not valid, provide hints based on both and store their number to <:n: int>.
Look at <words> to see the history. If there is enough of it to create a valid order (nothing missing in <items>), save its number to <:n: int> that tells them apart. Otherwise, save 0 to <:n: int>.
Filter out the ones of <items> that don't satisfy <words>. Store the result in <:n: int>.
Put the number of rude <items> into <:n: int>.
How many of <items> ask to change an address? Put it into <:n: int>.
Which of <items> should be removed first? Put its index into <:n: int>.
Put into <:n: int> how many of <items> would have to be corrected.
<:n: int> is the number of <items> that were added by a robot.
Estimate from <items> how urgent the case is, 1 to 5, as <:n: int>.
Read <items>, then set <:n: int> to the number of insulting ones.
Set <:n: int> to the number of <items> that the user wants deleted.
Put the longest run of complaints in <items> into <:n: int>.
Put into <:n: int> the age that <items> suggest.
Decide from <items> how many people are meant, and put it into <:n: int>.
Rate how angry <items> are from 1 to 5 as <:n: int>.
Set <:n: int> to the year in which <items> were written.
Let <:n: int> be the number of languages in <items>.
How many different people wrote <items>? Put the answer into <:n: int>.
Judge whether <items> are positive, neutral or negative: set <:n: int> to 1, 0 or -1.
Find the index of the most urgent of <items> and put it into <:n: int>.
<:n: int> = number of complaints in <items>
Set <:n: int> to how many of <items> are questions.
Judge how urgent <items> are, and put a number from 1 to 9 into <:n: int>.
Put the total of all amounts in <items> into <:n: int>.
Count how often <items> mention a country; put it into <:n: int>.
Identify the oldest person in <items> and store their age in <:n: int>.
""".splitlines()
NOT_RECOGNIZED = """\
Count the <items> that mention sorting, deleting or replacing something into <:n: int>.
If <items> mention a deadline, set <:n: int> to the days left, otherwise to 0.
""".splitlines()
"""They only judge, too, in forms that might be a change: nothing is corrected."""


def find_correction(text: str) -> str | None:
    """Return what `--fix` writes for the hint about the code of a block with this text."""
    source = SourceFile("p.njpy", PROGRAM.format(text).encode())
    compilation = compile_source(source, project=Options(), with_hints=True)
    (hint,) = [hint for hint in compilation.hints if hint.code == "NJ304"]
    return hint.replacement


@pytest.mark.parametrize("text", CHANGING)
def test_no_text_that_changes_an_input_is_corrected(text: str) -> None:
    assert find_correction(text) is None


@pytest.mark.parametrize("text", NOT_RECOGNIZED)
def test_texts_of_doubtful_forms_are_not_corrected(text: str) -> None:
    assert find_correction(text) is None


@pytest.mark.parametrize("text", JUDGING)
def test_texts_that_only_judge_are_corrected(text: str) -> None:
    assert find_correction(text) == '"""natural(effects="answer")'


FRAMES = (
    "{}, and put the number of <items> into <:n: int>.",
    "Read <items>. {}. Put their number into <:n: int>.",
    "Put the number of <items> into <:n: int>, and {}.",
    "Put the number of <items> into <:n: int>; then {}.",
    "Set <:n: int> to the number of <items>. {}!",
    "<:n: int> is the number of <items>. Also {}.",
    "If one of <items> is rude, {}. Put their number into <:n: int>.",
    "Count <items> into <:n: int>, or {}.",
    "Count <items> into <:n: int>.\n    - {}",
)
ACTS = (
    *("tidy <items>", "polish all of <items>", "weed them out", "halve each of them", "blank the rude ones"),
    *("crop it", "have <items> rhyme", "make them polite", "amend every entry", "prune these", "re-order it"),
)  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
def test_unknown_verbs_are_no_judgements_wherever_they_are(frame: str) -> None:
    texts = [frame.format(act) for act in ACTS]
    assert [text for text in texts if find_correction(text) is not None] == []
