"""Texts that ask to change what a block only reads are reported (NJ305) and get code; texts that only compute are not."""

from __future__ import annotations

import pytest

from njc.compiler import Compilation, compile_source
from njc.frontend.source import SourceFile

PROGRAM = '''from collections.abc import Sequence
from enum import Enum


class Mood(Enum):
    GOOD = 1


class Closed(Exception):
    pass


class Shop:
    total: int = 0

    def __init__(self, name: str, count: int, tags: Sequence[str]) -> None:
        self.name = name
        self.count = count
        self.tags = tags

    def f(self, rows: Sequence[str], text: str, n: int, old: str, new: str, kind: type[Shop]) -> int:
        """natural
        {}
        """
        return y
'''


def compile_text(text: str) -> Compilation:
    compilation = compile_source(SourceFile("p.njpy", PROGRAM.format(text).encode()))
    assert not [each for each in compilation.diagnostics if each.severity == "error"], text
    return compilation


def find_changed(text: str) -> list[str]:
    """Return the variables that the findings name, of a block that has code."""
    compilation = compile_text(text)
    (authority,) = compilation.authorities
    found = [each.message for each in compilation.diagnostics if each.code == "NJ305"]
    return [message.split("`")[1].partition(":")[0] for message in found] * (
        authority.effects == "direct"
    )


CHANGING = {
    "self.count": """\
Increase <self.count> by one. Put the new count into <:y: int>.
Increase <self.count> by one. Put it into <:y: int>.
Increase <self.count> by one. Write the result to <:y: int>.
Increase <self.count> by one and return it in <:y: int>.
Reset <self.count>. Then put the new count into <:y: int>.
Add <n> to <self.count>. Put the result into <:y: int>.
Add <n> to <self.count>, and put the length of <text> into <:y: int>.
Add <n> to <self.count>, then bind <:y: int> to the length of <text>.
Let <self.count> grow by <n>, and put the length of <text> into <:y: int>.
Put into <:y: int> the length of <text>, and increase <self.count>.
Put into <:y: int> the length of <text>. Increase <self.count>.
Put into <:y: int> the length of <text>, increasing <self.count>.
Put 2.5 into <self.count>, and the length of <text> into <:y: int>.
If <n> is odd increase <self.count>. Put the length of <text> into <:y: int>.
Put <n> into <self.count> and its half into <:y: int>.
Double <self.count>; put the length of <text> into <:y: int>.
Swap <n> and <self.count>. Put the length of <text> into <:y: int>.
<self.count> += 1. Put the length of <text> into <:y: int>.
<self.count> -= <n>, and put the length of <text> into <:y: int>.
Put the length of <text> into <:y: int>; <self.count>++.
<self.count> must be increased. Put the length of <text> into <:y: int>.
Put the length of <text> into <:y: int>. <self.count> goes up by one.
If <n> is odd, <self.count> should be doubled. Put the length of <text> into <:y: int>.
Count the words of <text> into <self.count>. Put the length of <text> into <:y: int>.
The length of <text> is added to <self.count>, and is <:y: int>.
<self.count> is increased by one. Put the count into <:y: int>.
<self.count> becomes <n>. Put the count into <:y: int>.
<self.count> := <n>. Put the count into <:y: int>.
<self.count> gets <n>. Put the count into <:y: int>.
Raise <self.count> by one. Put the length of <text> into <:y: int>.
Lower <self.count> by one. Put the length of <text> into <:y: int>.
Subtract <n> from <self.count>. Put the length of <text> into <:y: int>.
Multiply <self.count> by two. Put the length of <text> into <:y: int>.
Divide <self.count> by two. Put the length of <text> into <:y: int>.
Use <n> as the new <self.count>. Put the length of <text> into <:y: int>.
The new <self.count> is <n>. Put the length of <text> into <:y: int>.
Make <n> the <self.count>. Put the length of <text> into <:y: int>.
Assign <self.count> the value <n>. Put the length of <text> into <:y: int>.
Inc <self.count>. Put the count into <:y: int>.
Advance <self.count>. Put the length of <text> into <:y: int>.
Reduce <self.count> by <n>. Put the length of <text> into <:y: int>.
Credit <n> to <self.count>. Put the length of <text> into <:y: int>.
Charge <n> to <self.count>. Put the length of <text> into <:y: int>.
Withdraw <n> from <self.count>. Put the length of <text> into <:y: int>.
Deposit <n> into <self.count>. Put the length of <text> into <:y: int>.
Let <self.count> be <n>. Put the count into <:y: int>.
Let <self.count> be <n>, and put the length of <text> into <:y: int>.
Let <self.count> be one more. Put the length of <text> into <:y: int>.
Have <self.count> increased. Put the length of <text> into <:y: int>.
Nullify <self.count>. Put the length of <text> into <:y: int>.
One more for <self.count>. Put the length of <text> into <:y: int>.
If <text> is long, <self.count> is zero afterwards. Put the length of <text> into <:y: int>.
""",
    "Shop.total": """\
Increase <Shop.total>. Put it into <:y: int>.
Set <Shop.total> to <n>. Put the result into <:y: int>.
Store <n> in <Shop.total>, and put the length of <text> into <:y: int>.
""",
    "Shop": """\
Increase the total of <Shop>. Put it into <:y: int>.
Put into <:y: int> the total of <Shop> and set the total of <Shop> to <n>.
Reset <Shop>. Put the length of <text> into <:y: int>.
""",
    "kind": """\
Increase the total of <kind>. Put it into <:y: int>.
Set the total of <kind> to <n>, and put the length of <text> into <:y: int>.
""",
    "self.name": """\
Set <self.name> to <text>. Put the result into <:y: int>.
Store <text> in <self.name>, and put its length into <:y: int>.
Store <text> in <self.name>; put its length into <:y: int>.
Store <text> as <self.name>; put its length into <:y: int>.
Store "Dr. No" in <self.name>; put its length into <:y: int>.
Make <self.name> lower case; put its length into <:y: int>.
Replace <self.name> by <text>; put its length into <:y: int>.
Swap <self.name> and <text>; put its length into <:y: int>.
Assign <text> to <self.name>; put its length into <:y: int>.
Put <text> into <self.name> and its length into <:y: int>.
Fix the typos in <self.name>; put their number into <:y: int>.
Put into <:y: int> the length of <text>. Remember to record <text> in <self.name>.
Give <self.name> the value <text>. Put the length of <text> into <:y: int>.
Bind <self.name> to <text>. Put the length of <text> into <:y: int>.
Adapt <self.name> to <text>. Put the length of <text> into <:y: int>.
Rename <self.name> to <text>. Put the length of <text> into <:y: int>.
Let <self.name> be <text>. Put the length of <text> into <:y: int>.
Unset <self.name>. Put the length of <text> into <:y: int>.
Anonymize <self.name>. Put the length of <text> into <:y: int>.
From now on <self.name> is <text>. Put the length of <text> into <:y: int>.
From now on, <self.name> is <text>. Put the length of <text> into <:y: int>.
<self.name> now says what <text> means. Put the length of <text> into <:y: int>.
After this, <self.name> is <text>. Put the length of <text> into <:y: int>.
Have <self.name> reflect what <text> means. Put the length of <text> into <:y: int>.
""",
    "rows": """\
Get <rows> ready for print. Put the count into <:y: int>.
Please get all of <rows> clean, and put the count into <:y: int>.
Read <text> and get <rows> into shape. Put the count into <:y: int>.
Drop what is spoiled from <rows>, and put the number of what is left into <:y: int>.
Do away with the empty ones in <rows>. Put the count into <:y: int>.
Please dispose of what is old in <rows>, and put the count into <:y: int>.
Cross <text> out in <rows>. Put the count into <:y: int>.
The goal is to sort <rows>. Put the first into <:y: str>.
Your first action is to empty <rows>. Put the count into <:y: int>.
The goal is to have <rows> sorted. Put the count into <:y: int>.
Append <text> to <rows>, and put its length into <:y: int>.
Add <text> at the end of <rows>; <:y: int> is its length.
Into <rows>, append <text>. Put its length into <:y: int>.
In <rows>, replace each comma by a point. Put their number into <:y: int>.
From <rows> remove <text>. Put its length into <:y: int>.
Change the first of <rows> to <text>. Put its length into <:y: int>.
Swap the first two of <rows>. Put its length into <:y: int>.
Replace the first of <rows> by <text>. Put its length into <:y: int>.
Replace <old> by <new> in <rows>. Put its length into <:y: int>.
Remove <text> from <rows>. Put its length into <:y: int>.
Delete every <text> in <rows>. Put its length into <:y: int>.
Take <text> out of <rows>. Put its length into <:y: int>.
Take the last one off <rows>, into <:y: int>.
Pop the last one off <rows> into <:y: int>.
Pop the last of <rows> and put it into <:y: int>.
Drop the rude ones from <rows>. Put the count into <:y: int>.
Make <rows> empty. Put the count into <:y: int>.
Make all of <rows> lower case. Put the count into <:y: int>.
Turn <rows> around. Put the count into <:y: int>.
Fill <rows> with stars. Put the count into <:y: int>.
Put <text> on <rows>, and the count into <:y: int>.
Put <text> in <rows>, and the count into <:y: int>.
Put <text> in <rows> and the count into <:y: int>.
Put "x" in <rows>. Put the count into <:y: int>.
Insert <text> before the first of <rows>. Put the count into <:y: int>.
Assign "x" to the first of <rows>. Put the count into <:y: int>.
Write "x" into the first place of <rows>. Put the count into <:y: int>.
Store "x" in <rows>. Put the count into <:y: int>.
Unless <n> is odd append it to <rows>. Put the count into <:y: int>.
If <text> is long sort <rows>. Put the count into <:y: int>.
For each letter of <text> shuffle <rows>. Put the count into <:y: int>.
Could you sort <rows>? Put the count into <:y: int>.
It is important to sort <rows>. Put the count into <:y: int>.
Sort `<rows>`. Put the count into <:y: int>.
Sort the list (<rows>). Put the count into <:y: int>.
**Sort** **<rows>**. Put the count into <:y: int>.
Sort <rows> and then put the count into <:y: int>.
Append <text>, if it is long, to <rows>. Put the count into <:y: int>.
Save what <text> means in <rows>. Put the count into <:y: int>.
Now sort <rows>. Put the count into <:y: int>.
You should sort <rows>. Put the count into <:y: int>.
I want you to sort <rows>. Put the count into <:y: int>.
Make sure to sort <rows>. Put the count into <:y: int>.
Kindly sort <rows>. Put the count into <:y: int>.
1) Sort <rows>. 2) Put the count into <:y: int>.
(Sort <rows>.) Put the count into <:y: int>.
- Sort <rows>. - Put the count into <:y: int>.
Sort all the many names of <rows>. Put the count into <:y: int>.
<rows> must be emptied. Put the count into <:y: int>.
<rows> has to be sorted first, and the count is <:y: int>.
<rows> should be empty. Put the count into <:y: int>.
<rows>[0] = <text>. Put the count into <:y: int>.
If <text> is long, it goes into <rows>. Put the count into <:y: int>.
A long <text> goes into <rows>, and the count into <:y: int>.
Collect the letters of <text> into <rows>. Put the count into <:y: int>.
The first of <rows> becomes <text>. Put the count into <:y: int>.
<rows> gets one more element. Put the count into <:y: int>.
<rows> gets <text> appended. Put the count into <:y: int>.
<rows> loses its last element. Put the count into <:y: int>.
Give <rows> a new last element. Put the count into <:y: int>.
Get rid of the empty ones in <rows>. Put the count into <:y: int>.
Throw away the last of <rows>. Put the count into <:y: int>.
Filter out the empty strings from <rows> in place. Put the count into <:y: int>.
Keep only the long ones in <rows>. Put the count into <:y: int>.
Move the first of <rows> to the end. Put the count into <:y: int>.
Bring <rows> into alphabetical order. Put the count into <:y: int>.
Order <rows> by length. Put the count into <:y: int>.
Arrange <rows> alphabetically. Put the count into <:y: int>.
Put <rows> in alphabetical order. Put the count into <:y: int>.
Leave only the first two in <rows>. Put the count into <:y: int>.
Merge <text> into <rows>. Put the count into <:y: int>.
Inject <text> into <rows>. Put the count into <:y: int>.
Concatenate <text> onto <rows>. Put the count into <:y: int>.
Every item of <rows> is to be upper-cased. Put the count into <:y: int>.
Translate each of <rows> in place. Put the count into <:y: int>.
Mutate <rows> so that it has no duplicates. Put the count into <:y: int>.
Make sure that <rows> is empty afterwards. Put the count into <:y: int>.
Ensure <rows> ends with <text>. Put the count into <:y: int>.
Write down <text> in <rows>. Put the count into <:y: int>.
Queue <text> in <rows>. Put the count into <:y: int>.
Cross <text> off <rows>. Put the count into <:y: int>.
Strike <text> from <rows>. Put the count into <:y: int>.
Eliminate duplicates from <rows>. Put the count into <:y: int>.
Exclude <text> from <rows>. Put the count into <:y: int>.
Include <text> in <rows>. Put the count into <:y: int>.
rows: append <text> to <rows>! Put the count into <:y: int>.
<text> is appended to <rows>. Put the count into <:y: int>.
<text> should be added to <rows>. Put the count into <:y: int>.
<text> must be put into <rows>. Put the count into <:y: int>.
Stack <text> on <rows>. Put the count into <:y: int>.
Unshift <text> to <rows>. Put the count into <:y: int>.
Lowercase all of <rows> in place. Put the count into <:y: int>.
Refill <rows>. Put the count into <:y: int>.
Expand <rows> by <text>. Put the count into <:y: int>.
Let the first of <rows> be <text>. Put the count into <:y: int>.
Let <rows> be sorted. Put the count into <:y: int>.
Let <rows> be empty. Put the count into <:y: int>.
Have <rows> sorted. Put the count into <:y: int>.
Have the first of <rows> removed. Put the count into <:y: int>.
Get <rows> sorted. Put the count into <:y: int>.
See to it that <rows> is sorted. Put the count into <:y: int>.
Ensure that <text> is in <rows>. Put the count into <:y: int>.
Make sure <text> is in <rows>. Put the count into <:y: int>.
Make sure "x" is among <rows>. Put the count into <:y: int>.
<text> belongs in <rows>: put it there. Put the count into <:y: int>.
If <text> belongs in <rows>, put it there. Put the count into <:y: int>.
Create an entry for <text> in <rows>. Put the count into <:y: int>.
Make a new row for <text> in <rows>. Put the count into <:y: int>.
Create a new row in <rows>. Put the count into <:y: int>.
Log <text> in <rows>. Put the count into <:y: int>.
Tag each of <rows> with <old>. Put the count into <:y: int>.
Label all of <rows> as "old". Put the count into <:y: int>.
Annotate each of <rows>. Put the count into <:y: int>.
Annotate <rows> with <text>. Put the count into <:y: int>.
Prefix each of <rows> with <text>. Put the count into <:y: int>.
Pad all of <rows> with blanks. Put the count into <:y: int>.
Approve each of <rows>. Put the count into <:y: int>.
Enrich each of <rows> with <text>. Put the count into <:y: int>.
Redact the names in <rows>. Put the count into <:y: int>.
Apply <n> to each of <rows>. Put the count into <:y: int>.
Apply a discount of <n> to each of <rows>. Put the count into <:y: int>.
Apply the correction <old> to <rows>. Put the count into <:y: int>.
Ban <text> from <rows>. Put the count into <:y: int>.
Populate <rows> with names. Put the count into <:y: int>.
Tag each of <rows> with its topic. Put the count into <:y: int>.
From <rows> take out whatever is rude; put the count into <:y: int>.
Cross off from <rows> what <text> mentions, and put the count into <:y: int>.
Merge duplicates within <rows>; put the count into <:y: int>.
The best of <rows> moves to the front. Put the count into <:y: int>.
Nothing rude may stay in <rows>. Put the count into <:y: int>.
Throw the duplicates out of <rows>. Put the count into <:y: int>.
Remove the first of <rows> and put the removed one into <:y: str>.
Delete the empty ones in <rows>, and put the number of the others into <:y: int>.
Sort <rows> in place, and put them into <:y: list[str]>.
Sort <rows> by age in place, and return the number of urgent ones in <:y: int>.
Increase each of <rows>, and put the increase into <:y: int>.
Add the missing names to each of <rows>, and put the sum into <:y: int>.
Add up the letters of <text> into <rows>. Put the count into <:y: int>.
No stars must remain in <rows>. Put the count into <:y: int>.
<rows> should no longer contain <text>. Put the count into <:y: int>.
Mark as done what <text> finishes in <rows>, and put the count into <:y: int>.
Rows of <rows> that are empty are to be dropped. Put the count into <:y: int>.
<rows> shrinks to the three best. Put the count into <:y: int>.
Fold <text> into <rows>. Put the count into <:y: int>.
Pull the spam out of <rows> and put the count into <:y: int>.
Weed out the spam from <rows>. Put the count into <:y: int>.
Note on <rows> that <text> is new. Put the count into <:y: int>.
Remember <text> in <rows>. Put the count into <:y: int>.
Keep <text> in <rows>. Put the count into <:y: int>.
""",
}


@pytest.mark.parametrize(
    ("path", "text"),
    [(path, text) for path, texts in CHANGING.items() for text in texts.splitlines()],
)
def test_a_change_that_a_text_asks_for_is_reported_with_its_variable(path: str, text: str) -> None:
    assert find_changed(text) == [path]


PRINTING = """\
Put into <:y: int> the length of <text>, printing each step.
Put into <:y: int> the length of <text>, and print it.
Put into <:y: int> the length of <text>. Now print it.
Put into <:y: int> the length of <text>. You should also print it.
For each of <rows> print its length. Put their number into <:y: int>.
If <text> is empty print "empty". Put its length into <:y: int>.
Pretty-print <text>, and put its length into <:y: int>.
Use `print` to show <text>. Put its length into <:y: int>.
Write <text> into the log. Put its length into <:y: int>.
Append <text> to the file a.txt. Put its length into <:y: int>.
Announce <text>. Put its length into <:y: int>.
Show <text> to the user. Put its length into <:y: int>.
Tell the user that <text> is long. Put its length into <:y: int>.
""".splitlines()


@pytest.mark.parametrize("text", PRINTING)
def test_texts_that_ask_to_print_need_code(text: str) -> None:
    (authority,) = compile_text(text).authorities
    assert authority.effects == "direct"
    assert "which needs code" in authority.reason


COMPUTING = """\
<rows> should not have duplicates. Put into <:y: bool> whether that holds.
The order of <rows> goes from old to new. Put the newest into <:y: str>.
<rows> that are to be dropped have stars. Put their number into <:y: int>.
Let <rows> be the votes. Put the winner into <:y: str>.
Let <text> be the question. Put an answer into <:y: str>.
Tag each of <rows> with its topic. Put the tags into <:y: list[str]>.
From <rows> take the longest, and put it into <:y: str>.
Take the point of view of <rows>. Put a reply into <:y: str>.
Keep the order in <rows>. Put the first into <:y: str>.
Keep <text> in mind. Put the best of <rows> into <:y: str>.
Put into <:y: bool> whether nothing rude may stay in <rows>.
Nothing in <rows> may be taken for granted. Put the likely one into <:y: str>.
Put into <:y: bool> whether <text> should no longer contain stars.
Put into <:y: int> how many of <rows> move to the front if sorted.
What <self.count> is afterwards, put into <:y: int>.
Put into <:y: str> what is marked as done in <rows>.
The one of <rows> that is marked as done is <:y: str>.
Merge <rows> in your mind into one text, <:y: str>.
Have a look at <rows>. Put the best into <:y: str>.
Customers in <rows> complain. Put the reason into <:y: str>.
Listening to <rows>, you hear a melody. Put its name into <:y: str>.
Use animals, e.g. cats of <rows>. Put the best into <:y: str>.
Go through <rows> one by one. Put the best into <:y: str>.
Take <rows> as the candidates. Put the best into <:y: str>.
Read <rows> carefully. Put the best into <:y: str>.
Weigh <self.count> against <n>. Put the better offer into <:y: str>.
Rank <rows> by quality. Put the best into <:y: str>.
Group <rows> by topic. Put the largest topic into <:y: str>.
Cluster <rows>. Put the number of clusters into <:y: int>.
Compare <rows> with <text>. Put the most similar into <:y: str>.
Combine <rows> to a story. Put its title into <:y: str>.
Average <rows>. Put the answer into <:y: float>.
Split <text> by <rows>. Put the number of parts into <:y: int>.
Plan a trip to <rows>. Put the first town into <:y: str>.
Prioritize <rows>. Put the most urgent one into <:y: str>.
Proofread <rows>. Put the number of errors into <:y: int>.
Summarize <rows> in one sentence. Put the sentence into <:y: str>.
Skim <rows>. Put the gist into <:y: str>.
Disregard the short ones of <rows>. Put the longest into <:y: str>.
Interpret <rows> as votes. Put the winner into <:y: str>.
Recommend one of <rows>. Put its name into <:y: str>.
Select one of <rows>. Put its name into <:y: str>.
Pick two of <rows>. Put their names into <:y: str>.
Search <rows> for <text>. Put the position into <:y: int>.
Base the letter on <rows>. Put the letter into <:y: str>.
Act as the owner of <rows>. Put a reply to <text> into <:y: str>.
Role-play a customer with <rows>. Put a reply into <:y: str>.
Pay attention to <rows>. Put the topic into <:y: str>.
Focus on <rows>. Put the topic into <:y: str>.
Disregard <rows> if they are empty. Put a topic into <:y: str>.
Remember that <rows> are votes. Put the winner into <:y: str>.
Count <rows>. Put the number into <:y: int>.
Number <rows> from one. Put the last number into <:y: int>.
Pair each of <rows> with an animal. Put the funniest pair into <:y: str>.
Rate each of <rows>. Put the best into <:y: str>.
Grade each of <rows>. Put the best grade into <:y: str>.
Score <rows> from 1 to 5. Put the mean into <:y: float>.
Debate <rows>. Put the winner into <:y: str>.
Discuss <rows>. Put the conclusion into <:y: str>.
Critique <rows>. Put the main weakness into <:y: str>.
Congratulate the winner of <rows>. Put the letter into <:y: str>.
Apologize for <rows>. Put the letter into <:y: str>.
Invite all of <rows>. Put the invitation into <:y: str>.
Confirm <rows>. Put the reply into <:y: str>.
Mention <self.count>. Put the letter into <:y: str>.
Round <self.count> to tens. Put the number into <:y: int>.
Spell <self.count> in words. Put the words into <:y: str>.
Convert <self.count> to miles. Put the number into <:y: float>.
Express <self.count> as a percentage of <n>. Put the percentage into <:y: float>.
Offer a discount for <self.count> pieces. Put the offer into <:y: str>.
Quote <self.count> as the price. Put the letter into <:y: str>.
Propose <self.count> as the number of guests. Put the letter into <:y: str>.
Order <self.count> pizzas in a polite letter. Put the letter into <:y: str>.
Wish <self.count> happy years to <text>. Put the card into <:y: str>.
Explain why <self.count> is high. Put the explanation into <:y: str>.
Judge <rows>. Put a verdict into <:y: str>.
Sum <rows>. Put the total into <:y: int>.
Solve <rows>. Put the solution into <:y: str>.
Brainstorm about <rows>. Put the best idea into <:y: str>.
Elaborate on <rows>. Put the text into <:y: str>.
Cross-check <rows> with <text>. Put the contradictions into <:y: str>.
Double-check <rows>. Put the errors into <:y: str>.
Browse <rows>. Put one that fits into <:y: str>.
Scan <rows> for names. Put the first into <:y: str>.
Map <rows> to countries. Put the most frequent into <:y: str>.
Bear <rows> in mind. Put a plan into <:y: str>.
Look up <text> in <rows>. Put the page into <:y: int>.
Translate <rows>. Put the longest translation into <:y: str>.
Draw a conclusion from <rows>. Put it into <:y: str>.
Infer the topic from <rows>. Put it into <:y: str>.
Work out the sum of <rows>. Put it into <:y: int>.
Figure out what <rows> have in common. Put it into <:y: str>.
Put into <:y: bool> whether <text> asks to print something.
Put into <:y: str> whether <text> is about print, web or log.
Put into <:y: str> the text on the print of <text>.
Put the number of errors in the log into <:y: int>. The log: <text>
Write the errors of the log in <text> into <:y: str>.
Log: <text>. Put its last error into <:y: str>.
Announce the winner of <rows> in <:y: str>.
Tell the user politely that <text> is wrong: <:y: str>.
Show <text> to the user in a shorter form, <:y: str>.
Put into <:y: str> what to tell the user about <text>.
Put into <:y: bool> whether <text> should be shown to the user.
Tell the user that <text> is wrong. Put the message into <:y: str>.
Announcement: <text>. Put its mood into <:y: str>.
If the log of <text> is empty, put 0 into <:y: int>.
Read <rows> and put the longest into <:y: str>.
Put the number of words in <rows> into <:y: int>.
Put the number of words in <rows> and <self.name> into <:y: int>.
Put the number of words in <rows>, <self.name> and <text> into <:y: int>.
Put into <:y: int> the number of words in <rows>.
Store in <:y: int> the number of words in <rows>.
Store how many of the words in <rows> are long in <:y: int>.
Set <:y: int> to the number of words in <rows>.
Write a poem in the style of <rows>. Put its title into <:y: str>.
Write a poem in <self.name>. Put it into <:y: str>.
Write a poem in <self.name>, and put it into <:y: str>.
Write a poem about <text> in <self.name> into <:y: str>.
Write an answer to <rows>: <:y: str>.
Write an answer to each of <rows>, into <:y: list[str]>.
Write an answer to <text>. Put its length into <:y: int>.
Put <text> into the language of <self.name>: <:y: str>.
Put <text> into <self.name>: <:y: str>.
Put the answer to <text> into <:y: str>.
Translate <text> into <self.name>. Put the result into <:y: str>.
Sort <rows> into <:y: list[str]>.
Sort <rows>, and put the result into <:y: list[str]>.
Sort <self.name> and put it into <:y: str>.
Sort <text>. Put the result into <:y: str>.
Fix the typos in <text>. Put the corrected text into <:y: str>.
Fix the typos in <self.name>. Put the result into <:y: str>.
Fix the typos in <rows>, and put them into <:y: list[str]>.
Make <text> polite: <:y: str>.
Make <rows> into a story. Its title is <:y: str>.
Turn <rows> into a story. Its title is <:y: str>.
Turn <rows> into a story, <:y: str>.
Make a list of the <rows> that are long. Put it into <:y: list[str]>.
Make a title for <rows>, and put it into <:y: str>.
Remove the vowels from <text>, and put the result into <:y: str>.
Remove <old> from <text>. Put the result into <:y: str>.
Replace <old> by <new> in <text>, and put the result into <:y: str>.
Replace <old> by <new> in <self.name>, and put the result into <:y: str>.
Take the numbers out of <rows> and put them into <:y: list[int]>.
Take the names out of <rows>. Put them into <:y: list[str]>.
From <rows>, choose the best, and put it into <:y: str>.
In <rows>, find the best, and put it into <:y: str>.
In <text> change each comma to a point, and put the result into <:y: str>.
If they ask to sort <rows>, put 1 into <:y: int>, else 0.
If it is wrong to sort <rows>, put 1 into <:y: int>, else 0.
If there is a change in <rows>, put 1 into <:y: int>, else 0.
If <text> is in the set of <rows>, put 1 into <:y: int>, else 0.
Put into <:y: int> how often the users change <rows>.
Put into <:y: bool> whether to sort <rows>.
Decide whether one should add <text> to <rows>: <:y: bool>.
Do not sort <rows>. Put the first into <:y: str>.
Never remove <text> from <rows>. Put the first into <:y: str>.
Without changing <rows>, put the first into <:y: str>.
Put the first of <rows> into <:y: str>, without sorting <rows>.
Note: <rows> are names. Put the first into <:y: str>.
Note that <rows> are names. Put the first into <:y: str>.
Based on <rows>, put a guess into <:y: str>.
Let <rows> be the names of a class. Put the first into <:y: str>.
The file <text> has <n> lines. Put its mood into <:y: str>.
Put emphasis on <text>; the mood is <:y: str>.
Give <text> a title: <:y: str>.
Compare <rows> with <text>, and put the difference into <:y: str>.
Add the lengths of <rows>, and put the sum into <:y: int>.
Add <n> to the length of <text> for <:y: int>.
Copy the first of <rows> into <:y: str>.
Save the mood of <rows> as <:y: str>.
Record the mood of <rows> in <:y: str>.
Place <text> in one of the groups of <rows>: <:y: str>.
Assign a mood to <text>, and put it into <:y: str>.
Set the mood to one of <Mood>: <:y: Mood>.
Make a <Shop> of <text>, and put its name into <:y: str>.
Raise <Closed> if <text> is empty. Put the length of <text> into <:y: int>.
Double <n>, and put it into <:y: int>.
Cut <text> to ten words: <:y: str>.
Clean up <text>. Put the cleaned text into <:y: str>.
Put into <:y: bool> whether <rows> must be sorted.
If <rows> should be sorted, put 1 into <:y: int>, else 0.
Which of <rows> has to be changed? Put it into <:y: str>.
<text> says that <rows> should be sorted. Put the reason into <:y: str>.
<rows> should be sorted into <:y: list[str]>.
<text> should be trimmed. Put the result into <:y: str>.
Put into <:y: bool> whether it goes into <rows>.
<rows> must not be changed. Put the first into <:y: str>.
Put into <:y: bool> whether <n> >= 3 and <self.count> <= 4.
Put into <:y: bool> whether <n> == <self.count>.
Put into <:y: bool> whether <self.count> becomes negative if <n> is subtracted from it.
Subtract <n> from <self.count>. Put the difference into <:y: int>.
Subtract <n> from <self.count> and put the result into <:y: int>.
Multiply <self.count> by <n>: <:y: int>.
Multiply <n> and <self.count>, and put the product into <:y: int>.
Keep only the long ones of <rows>: <:y: list[str]>.
Keep only the long ones in <rows>, and put them into <:y: list[str]>.
Filter <rows> by length into <:y: list[str]>.
Filter out the short ones from <rows>. Put the result into <:y: list[str]>.
Exclude <old> from <rows>, and put the rest into <:y: list[str]>.
Merge <rows> and <self.tags> into <:y: list[str]>.
Concatenate <rows>: <:y: str>.
Order <rows> by length: <:y: list[str]>.
Order <self.count> of <self.name> is late. Put an excuse into <:y: str>.
Bring <text> into a polite form: <:y: str>.
Ensure that <:y: str> is one of <rows>.
Ensure that the answer is one of <rows>. Put it into <:y: str>.
Make sure that <:y: str> is in <rows>, and is polite to <self.name>.
Each of <rows> gets a mark: <:y: list[int]>.
Each of <rows> receives a mark from 1 to 6, in <:y: list[int]>.
Give each of <rows> a mark, and put the marks into <:y: list[int]>.
Expand the abbreviations in <self.name>, and put the result into <:y: str>.
Reduce <rows> to one sentence: <:y: str>.
The customer <self.name> gets angry if he waits. Put an excuse into <:y: str>.
The new <self.name> is better than <old>. Put a slogan into <:y: str>.
Use <self.name> as the name, <text> as the title. Put a letter into <:y: str>.
Rate <text> as the <rows> do. Put the mark into <:y: int>.
<rows> are sorted. Put the first into <:y: str>.
Names are stored in <rows>. Put the first into <:y: str>.
Include <self.name> in the answer, <:y: str>.
Include the name <self.name> in the letter. Put it into <:y: str>.
Answer <text>; mention <self.name>. Put the answer into <:y: str>.
Assume that <text> is added to <rows>. Put the new length into <:y: int>.
Imagine <text> is appended to <rows>. Put its length into <:y: int>.
Find out what is in <rows>. Put it into <:y: str>.
<self.name> is the customer. Put a greeting into <:y: str>.
Shrink <text> to ten words: <:y: str>.
Arrange <rows> by mood: <:y: list[str]>.
Throw a coin for <self.name>: <:y: bool>.
The name is <self.name> in <text>. Put its place into <:y: int>.
Charge per day is <self.count>. Put the price of <n> days into <:y: int>.
The <self.count> is in dollars. Put <n> of them, in words, into <:y: str>.
Put the words of <rows> in order: <:y: list[str]>.
Put <rows> in alphabetical order into <:y: list[str]>.
Put into <:y: list[str]> the <rows> in alphabetical order.
A <self.name> has <self.count> legs. Put its kind into <:y: str>.
Strike a balance between <self.name> and <text>: <:y: str>.
Leave <self.name> out of it. Put a letter to <text> into <:y: str>.
Copy of <text>: put a summary into <:y: str>.
Check <text> off <rows>. Put the count into <:y: int>.
Check the facts in <rows>. Put the wrong ones into <:y: list[str]>.
Move the focus to <rows>. Put the first into <:y: str>.
Put more weight on <rows> than on <text>. Put the mood into <:y: str>.
Let <text> be a letter to <self.name>. Put its mood into <:y: str>.
Let <self.count> be the number of guests. Put the price into <:y: int>.
Let <rows> be given. Put the first into <:y: str>.
Have a look at <rows>. Put the first into <:y: str>.
Get the gist of <rows>. Put it into <:y: str>.
Check that <text> is in <rows>. Put the result into <:y: bool>.
Ensure that <text> is in <rows>; if not, put false into <:y: bool>, otherwise true.
Make sure that the answer is in <rows>. Put it into <:y: str>.
Make sure that the answer is in the language of <text>: <:y: str>.
Put into <:y: bool> whether <text> belongs in <rows>.
If <text> belongs in <rows>, put true into <:y: bool>, otherwise false.
<text> belongs in <rows>. Put its place into <:y: int>.
Create an entry for <text> in the style of <rows>, and put it into <:y: str>.
Create a slogan for <text> in <self.name>: <:y: str>.
Make a row of the words in <rows>, and put the row into <:y: str>.
Tag each of <rows> with a topic. Put the most common topic into <:y: str>.
Label each of <rows> as good or bad. Put the number of good ones into <:y: int>.
Annotate each of <rows>: <:y: list[str]>.
Annotate each of <rows>. Put the annotations into <:y: list[str]>.
Anonymize <self.name>, and put the result into <:y: str>.
Anonymize <text>. Put the anonymous version into <:y: str>.
Apply the criteria of <text> to each of <rows>. Put the best into <:y: str>.
Apply the rules in <rows> to <text>. Put the verdict into <:y: str>.
Apply <text> to <rows>, and put the results into <:y: list[str]>.
Apply common sense to <rows>. Put the best into <:y: str>.
Improve each of <rows>. Put the improved ones into <:y: list[str]>.
Close to <self.name> lies a town. Put its name into <:y: str>.
The label of <rows> is <text>. Put a better label into <:y: str>.
Limit the answer to what is in <rows>. Put it into <:y: str>.
Tags: <rows>. Put the best tag into <:y: str>.
Assign a difficulty to the puzzle <rows>, and put it into <:y: int>.
Tell a joke about <rows>. Put the punchline into <:y: str>.
Rank the candidates in <rows> and put the winner into <:y: str>.
Translate the title of <rows> into French, and put the translation into <:y: str>.
Convert the amounts in <rows> to euros and put the total into <:y: float>.
Round all of <rows> and put the rounded sum into <:y: float>.
Split the bill <rows> evenly and put each share into <:y: float>.
Combine the flavours of <rows> and put the name of the dish into <:y: str>.
Format all of <rows> as one table, and put the table into <:y: str>.
Turn the list <rows> into a rhyme, and put the rhyme into <:y: str>.
Paraphrase each of <rows> and put the shortest paraphrase into <:y: str>.
Have a critic judge <rows>. Put the verdict into <:y: str>.
Let a child explain <rows>. Put the explanation into <:y: str>.
Let the winner of <rows> speak. Put the speech into <:y: str>.
Make it clear to the reader of <rows> that it rains; put the text into <:y: str>.
Make sure that it rhymes with <rows>. Put the line into <:y: str>.
Parse the dates in <rows> into ISO format and put the first into <:y: str>.
Everyone in <rows> is invited. Put the number of guests into <:y: int>.
All of <rows> are sorted by date. Put the gap between the last two, in days, into <:y: int>.
The names in <rows> are shortened. Put the full name of the first into <:y: str>.
Nothing in <rows> can be left out. Put a summary into <:y: str>.
If <rows> lose, put the reason into <:y: str>, otherwise put nothing there.
After <rows>, what comes next? Put it into <:y: str>.
Read <rows>. Think of a way to improve them. Put the idea into <:y: str>.
The users of <rows> want to delete it. Put the reason into <:y: str>.
If <rows> ask you to remove them, put true into <:y: bool>, otherwise false.
Judge each of <rows>: is it polite? Put the number of polite ones into <:y: int>.
Given <rows>, how likely is rain? Put a percentage into <:y: int>.
You get the reviews <rows>. Decide on one word that sums them up, and put it into <:y: str>.
Look for contradictions between <rows> and <self.tags>; put the worst into <:y: str>.
Summarise <rows> so that a child gets it. Put the summary into <:y: str>.
Vote for one of <rows> and put it into <:y: str>.
Guess who wrote <rows>. Put the name into <:y: str>.
Assess <rows> against the checklist <self.tags> and put the number of failures into <:y: int>.
Transcribe <rows> phonetically, and put the first line into <:y: str>.
Diagnose the patient from <rows>. Put the diagnosis into <:y: str>.
Grade the essay in <rows> out of ten, and put the grade into <:y: int>.
Calculate the tip for <rows>, rounding up, and put it into <:y: float>.
Find a rhyme for each of <rows>; put the best rhyme into <:y: str>.
Read between the lines of <rows>, and put what is meant into <:y: str>.
Flag whether any of <rows> is spam in <:y: bool>.
Mark <:y: bool> true if any of <rows> is spam.
List the ingredients in <rows> as <:y: list[str]>.
Sum up <rows> in one sentence: <:y: str>.
Recite the best line of <rows> and put its author into <:y: str>.
Review the code in <rows>; put the number of bugs into <:y: int>.
Simulate a jury on <rows>, and put the verdict into <:y: str>.
Use <rows> as examples. Put one more into <:y: str>.
Ask yourself what <rows> have in common, then put it into <:y: str>.
Put the cheapest of <rows> into <:y: str>. If there is a tie, take the first.
Put the cheapest of <rows> into <:y: str>. If it costs more than ten, say so there.
If <rows> mention a discount, apply it, and put the price into <:y: float>.
Put the price of <rows> into <:y: float>. Ignore taxes.
Put the number of <rows> into <:y: int>. Count each only once.
Put the number of <rows> into <:y: int>. Include drafts.
Put the number of <rows> into <:y: int>. Leave out drafts.
Put the number of words in <rows> into <:y: int>. Treat hyphenated words as one.
Put into <:y: int> how many of <rows> are rude. Count sarcasm, too.
Choose the next player from <rows> at random and put the name into <:y: str>.
Interpret the poem <rows>, and put its theme into <:y: str>.
Weigh the arguments in <rows>, and put the stronger side into <:y: str>.
Answer the question <text> with <rows> in mind, and put the answer into <:y: str>.
Resolve the conflict between <rows> and <self.tags> and put the outcome into <:y: str>.
Identify the speaker of each of <rows>, and put the most frequent one into <:y: str>.
Narrow <rows> down to the best, and put it into <:y: str>.
Verify each of <rows>, then put the number of false ones into <:y: int>.
Assume each of <rows> costs <n>. Put the total into <:y: int>.
Fact-check <rows>. Put the number of false claims into <:y: int>.
Price each of <rows>, and put the sum into <:y: float>.
Total the amounts in <rows>, and put the total into <:y: float>.
Tally the votes in <rows>. Put the winner into <:y: str>.
Label each of <rows> as spam or ham, and put the number of spam into <:y: int>.
Choose the customer in <rows> who complained first, and put the name into <:y: str>.
You are an editor. Read <rows> and put a headline of at most eight words into <:y: str>.
Write a haiku about <rows>. It must not rhyme. Put it into <:y: str>.
Suggest a gift for the people in <rows>; keep it cheap. Put the idea into <:y: str>.
Put into <:y: list[str]> the names in <rows>, sorted alphabetically.
Put the names in <rows> into <:y: list[str]>, and sort them alphabetically.
Put the names in <rows> into <:y: list[str]>, removing duplicates.
Put the names in <rows> into <:y: list[str]>. Remove duplicates.
Extract all email addresses from <rows>. Lowercase them and put them into <:y: list[str]>.
Clean the phone numbers in <rows> and put them into <:y: list[str]>.
From <rows> and <text>, work out when the train leaves; put the time into <:y: str>.
Does anyone in <rows> ask for a refund? Put the answer into <:y: bool>.
The passengers in <rows> are waiting. Put a polite announcement into <:y: str>.
Each of <rows> is a line of a poem. Put its title into <:y: str>.
All of <rows> are in French. Put the language level into <:y: str>.
Every entry in <rows> is written by a customer. Put the mood into <:y: str>.
Take the weather in <rows> into account. Put what to wear into <:y: str>.
Pretend to be <self.name>, and answer <rows>. Put the answer into <:y: str>.
Ask the user for what is missing in <rows>: <:y: str>.
If the users in <rows> want to delete something, put it into <:y: str>; otherwise put nothing.
Put into <:y: bool> whether <rows> asks you to delete or change something.
Compare the offers in <rows> and put the cheapest into <:y: str>.
Make a shopping list from <rows>, grouped by shop, in <:y: list[str]>.
Make sense of <rows>, and put the point into <:y: str>.
Let <:y: str> be the best of <rows>.
Let the tone be friendly. Put a reply to <rows> into <:y: str>.
Use only facts from <rows>. Put a summary into <:y: str>.
Do not invent anything that <rows> does not contain. Put a summary into <:y: str>.
Count the votes in <rows>; ties go to the oldest. Put the winner into <:y: str>.
Round the mean of <rows> to two digits: <:y: float>.
Turn <rows> into a single sentence. Put it into <:y: str>.
Turn each of <rows> into a question, and put the questions into <:y: list[str]>.
Translate each of <rows> into German, and put the translations into <:y: list[str]>.
Fill in the blank of <text> with one of <rows>. Put the word into <:y: str>.
Draft a reply to <text> in the tone of <rows>. Sign it with <self.name>. Put it into <:y: str>.
Given the product <text> and the catalogue <rows>, put the price into <:y: float>.
Here are some reviews: <rows>. Put the average mood into <:y: float>.
Reviews: <rows>. Question: <text>. Answer: <:y: str>.
Look for a word in <rows> that rhymes with <text>, and put it into <:y: str>.
Explain <rows> to a child. Put the explanation into <:y: str>.
Detect whether someone in <rows> lies. <:y: bool> is true if so.
The newest of <rows> counts most. Put the trend into <:y: str>.
The rows of <rows> are separated by commas. Put the number of fields into <:y: int>.
<rows> lists our customers. Put the largest city into <:y: str>.
A user wrote <text>. Our products are <rows>. Put the product that the user means into <:y: str>.
Imagine you own the shop with <rows>, and plan a sale. Put the slogan into <:y: str>.
Play the role of a critic of <rows>. Put the verdict into <:y: str>.
Solve the riddle of <text> with the hints in <rows>, and put the solution into <:y: str>.
Think step by step about <rows>. Put the answer into <:y: int>.
Write code that sorts <rows>. Put the code into <:y: str>.
Write a function that removes the last of <rows> and put its source into <:y: str>.
Create a quiz from <rows>, with four options each, and put it into <:y: list[str]>.
Group <rows> by country and put the countries into <:y: list[str]>.
Anonymize <rows>. Save the anonymized rows in <:y: list[str]>.
Rewrite <rows> as one paragraph, without names. Save it in <:y: str>.
Shorten <rows> to one line. The line is <:y: str>.
Reverse the order of <rows>: <:y: list[str]>.
Distribute <rows> over three teams, and put the teams into <:y: list[str]>.
Schedule the talks in <rows>, and put the schedule into <:y: list[str]>.
Assign each of <rows> to a room; put the rooms into <:y: list[str]>.
Book club: <rows>. Put the next book into <:y: str>.
Price list: <rows>. Put the cheapest article into <:y: str>.
Estimate how <rows> will change in a year, and put the estimate into <:y: str>.
Complete the sentence <text> in the style of <rows>: <:y: str>.
Pick a name for the cat. It should be in <rows>. Put it into <:y: str>.
Keep in mind that <rows> may contain errors. Put the likely total into <:y: int>.
Treat every line of <rows> as a vote. Put the winner into <:y: str>.
Ignore the headers in <rows>, and put the number of records into <:y: int>.
Leave out the empty ones in <rows>, and put the number of the others into <:y: int>.
Add up the amounts in <rows>. Put the sum into <:y: float>.
Add up the hours in <rows>; <:y: float> is the total.
Add up what <rows> contains: <:y: int>.
Add the amounts in <rows>. Put the sum into <:y: float>.
Add the amounts in <rows> together, and put them into <:y: float>.
Sort <rows> by urgency and put the sorted titles into <:y: list[str]>.
Sort <rows> by urgency and put the titles into <:y: list[str]>.
Sort <rows>; <:y: list[str]> is the result.
Sort <rows>. The sorted list is <:y: list[str]>.
Shuffle <rows> and put the shuffled list into <:y: list[str]>.
Reverse <rows>; call the result <:y: list[str]>.
Deduplicate <rows>. The result goes into <:y: list[str]>.
Remove the duplicates from <rows>. The rest goes into <:y: list[str]>.
Filter <rows> down to the urgent ones, and give their titles in <:y: list[str]>.
Merge the rows in <rows> that mean the same, and put one title for each into <:y: list[str]>.
Rewrite <rows> for a child; the result is <:y: str>.
Shorten <rows> to a headline. The headline is <:y: str>.
Anonymize the names in <rows>. The anonymous text is <:y: str>.
Fix the grammar of <rows>; <:y: str> is the corrected text.
Drop the lowest of <rows>, and put the average of the rest into <:y: float>.
Drop duplicates in <rows> and put the cleaned list into <:y: list[str]>.
Put into <:y: str> whether one should archive, answer or delete <rows>.
Put into <:y: str> whether to answer, forward or archive <rows>.
Each of <rows> should be a fruit. Put those that are not into <:y: list[str]>.
<rows> must not contain duplicates. Put into <:y: bool> whether they do.
Put a report on <rows> into <:y: str>. If it gets too long, shorten it.
Put the names of the fruits in <rows> into <:y: str>, and sort them.
Drop what is spoiled from <rows> and put what is left into <:y: list[str]>.
Remove the duplicates from <rows>. Then store only what remains in <:y: tuple[str, ...]>.
Throw out every rude word from <rows>; put whatever is left into <:y: list[str]>.
Get the names from <rows>. Put their number into <:y: int>.
Get ready to read <rows>. Put their number into <:y: int>.
Decide how to get <rows> clean. Put the number of steps into <:y: int>.
Put into <:y: str> how to dispose of <rows>.
The goal is to count <rows>. Put their number into <:y: int>.
The goal is to sort <rows>, and put them into <:y: list[str]>.
The crossed out ones in <rows> are wrong. Put their number into <:y: int>.
The guests in <rows> should go to Berlin. Put the price into <:y: int>.
If the guests in <rows> should go, put 1 into <:y: int>.
If the typos in <rows> need fixing, put 1 into <:y: int>.
Sing a song if <rows> are friendly. Put the refrain into <:y: str>.
""".splitlines()


@pytest.mark.parametrize("text", COMPUTING)
def test_texts_that_only_compute_are_not_reported_and_need_no_code(text: str) -> None:
    compilation = compile_text(text)
    (authority,) = compilation.authorities
    assert [each.message for each in compilation.diagnostics] == []
    assert authority.effects == "answer", authority.reason


UNCLEAR = """\
Mask every phone number in <rows>. Put the count into <:y: int>.
Pad <rows> with empty texts up to five. Put the count into <:y: int>.
Swap the first and the last of <rows>. Put the count into <:y: int>.
Collapse <rows> to one item. Put the count into <:y: int>.
Complete <rows>. Put the count into <:y: int>.
Grow <rows> by <text>. Put the count into <:y: int>.
Transfer <n> from <self.count> to <self.name>. Put a receipt into <:y: str>.
Credit <self.count> with <n>. Put a receipt into <:y: str>.
Debit <self.count> by <n>. Put a receipt into <:y: str>.
Refund <n> to <self.count>. Put a receipt into <:y: str>.
Book <text> in <rows>. Put the count into <:y: int>.
Reserve a place for <text> in <rows>. Put the count into <:y: int>.
Relabel <rows>. Put the count into <:y: int>.
Upsert <text> in <rows>. Put the count into <:y: int>.
Sync <rows> with <text>. Put the count into <:y: int>.
Flush <rows>. Put the count into <:y: int>.
Restock <rows>. Put the count into <:y: int>.
Approve the first of <rows>. Put the count into <:y: int>.
Cancel <text> in <rows>. Put the count into <:y: int>.
Close the first of <rows>. Put the count into <:y: int>.
Promote the first of <rows>. Put the count into <:y: int>.
Rank <rows> from best to worst, in place. Put the first into <:y: str>.
Renumber <rows>. Put the count into <:y: int>.
Inline <text> into <rows>. Put the count into <:y: int>.
Prepend <text>, with <rows> as the target. Put the count into <:y: int>.
Convert <rows> to lower case in place. Put the count into <:y: int>.
Slot <text> into <rows>. Put the count into <:y: int>.
Distribute <text> among <rows>. Put the count into <:y: int>.
While reading <text>, collect its names in <rows>. Put the count into <:y: int>.
Collect the names of <text> in <rows>. Put the count into <:y: int>.
Memorize <text> as the last of <rows>. Put the count into <:y: int>.
Launder <rows>. Put the count into <:y: int>.
Consolidate <rows>. Put the count into <:y: int>.
Seed <rows> with three names. Put the count into <:y: int>.
Migrate <rows> to the new format. Put the count into <:y: int>.
Settle <self.count>. Put a receipt into <:y: str>.
Top <self.count> up by <n>. Put a receipt into <:y: str>.
Freeze <self.count>. Put a receipt into <:y: str>.
Schedule <text> in <rows>. Put the count into <:y: int>.
Subscribe <text> to <rows>. Put the count into <:y: int>.
Enroll <text> in <rows>. Put the count into <:y: int>.
Evict the oldest of <rows>. Put the count into <:y: int>.
Retire the oldest of <rows>. Put the count into <:y: int>.
Shelve <text> among <rows>. Put the count into <:y: int>.
Then compact <rows>. Put the count into <:y: int>.
Please spread <text> over <rows>. Put the count into <:y: int>.
Splice <text> into <rows>. Put the count into <:y: int>.
Allocate <n> of <self.count> to <text>. Put a receipt into <:y: str>.
Consume one of <rows>. Put the count into <:y: int>.
Spend <n> of <self.count>. Put a receipt into <:y: str>.
Burn <n> of <self.count>. Put a receipt into <:y: str>.
Dock <self.count> by <n>. Put a note into <:y: str>.
Penalize <self.count> by <n>. Put a note into <:y: str>.
Reward the player: <self.count> plus ten. Put a note into <:y: str>.
Scrub <rows>. Put the count into <:y: int>.
Winnow <rows>. Put the count into <:y: int>.
Reindex <rows>. Put the count into <:y: int>.
Interleave <rows> with <text>. Put the count into <:y: int>.
Publish the first of <rows>. Put the count into <:y: int>.
All of <rows> lose their prices. Put how many there were into <:y: int>.
Let the angry ones in <rows> disappear. Put the count into <:y: int>.
Every rude word in <rows> is replaced by stars. Put the count into <:y: int>.
Split the longest of <rows> in two, and put the number of rows into <:y: int>.
Make room in <rows>, and put the number of free places into <:y: int>.
Turn every one of <rows> into a question, and put the number of questions into <:y: int>.
Refresh <rows> with the newest prices, then give <:y: int> the number of changes.
Let <self.count> be the sum of <rows>. Put the mood into <:y: str>.
Sort <rows> by age, then put the oldest into <:y: str>.
Water the plants in <rows>. <:y: int> is how many were dry.
Squash <rows> into a single line, and put its length into <:y: int>.
Whichever of <rows> are rude: blank them. Put the count into <:y: int>.
Go through <rows>, strike out whatever is obsolete, and put the number of strikes into <:y: int>.
Look at <rows> and prune the dead ones. Put into <:y: int> how many you pruned.
The angry ones in <rows> are to be softened. Put the count into <:y: int>.
Each of <rows> is shortened to ten words. Put the count into <:y: int>.
Pay the bills in <rows>, and put the amount into <:y: int>.
Take <n> from <self.count>; put a receipt into <:y: str>.
Have everyone in <rows> switch seats, and put the number of moves into <:y: int>.
Apply the discount to everything in <rows>, and put the total into <:y: int>.
Use up one of <rows>, and put what remains into <:y: int>.
For each of <rows>, lower its price by ten percent; put the new total into <:y: int>.
Please make all the titles in <rows> upper case; put the number into <:y: int>.
Round every amount in <rows>, and put the total into <:y: int>.
Move the most urgent of <rows> to <:y: str>.
Put the mood of <rows> into <:y: int> and into the list.
Put the mood of <rows> into <:y: int> as well as into <rows>.
Put the longest of <rows> into <:y: int>. From then on the list starts with it.
Count <rows> into <:y: int> while emptying it.
Put the number of <rows> into <:y: int>, having sorted them by date.
If <text> is odd, only the best three of <rows> survive. Put the number into <:y: int>.
Score each of <rows> in its field score, and put the mean into <:y: int>.
Read <rows>. None of them may stay empty. Put the number into <:y: int>.
Look at each of <rows> to shorten it. Put the number into <:y: int>.
How many of <rows> are empty? Those go. The number is <:y: int>.
Which of <rows> are empty? Out with them. <:y: int> is the number.
If <rows> is empty, it gets "none". Put the first into <:y: str>.
Otherwise <rows> is reduced to one. Put the first into <:y: str>.
Read <rows>. Whatever is rude becomes a star. Put the number into <:y: int>.
Put the longest of <rows> into <:y: int>. The list ends up shorter.
Pick the first off <rows>. Put the count into <:y: int>.
Assign new numbers to <rows>, then put the largest number into <:y: int>.
Put the longest of <rows> into <:y: str> and empty the list.
Put a title for <rows> into <:y: str>, and alphabetize them.
Put a summary of <rows> into <:y: str>. Then throw them away.
Alphabetize <rows>. How many are left? Put it into <:y: int>.
Jumble <rows>, then tell in <:y: int> how many moved.
The typos in <rows> need fixing. Put their number into <:y: int>.
Prices in <rows> are to go up by ten percent. Put the new total into <:y: float>.
Whatever is spoiled in <rows> has to go. Put the count into <:y: int>.
Everything stale in <rows> must go. Put the number of stale ones into <:y: int>.
The duplicates in <rows> should go. Put their number into <:y: int>.
The first two in <rows> have to go. Put the number of those left into <:y: int>.
Go over <rows>, fixing what is wrong, and put the number of fixes into <:y: int>.
Go through <rows> and capitalize the names. Put the number of names into <:y: int>.
Translate the title of each of <rows> into English, and count in <:y: int> how many were French.
"""


@pytest.mark.parametrize("text", UNCLEAR.splitlines())
def test_a_sentence_with_an_unknown_verb_and_without_an_output_is_reported(text: str) -> None:
    """Its block still answers with data: the verb may mean a judgement."""
    compilation = compile_text(text)
    (authority,) = compilation.authorities
    assert authority.effects == "answer", authority.reason
    (found, *_) = compilation.diagnostics
    assert found.code == "NJ305"
    assert "may be a change" in found.message


CLAUSES = (
    "{} <rows>", "{} each of <rows>", "{} all the rude ones in <rows>", "{} the first of <rows> with <text>",
    "{} everything in <rows>", "please {} one of <rows>",
)  # fmt: skip
UNKNOWN_VERBS = [
    "launder",
    "sprinkle",
    "reshuffle",
    "varnish",
    "degrease",
    "kern",
    "unbundle",
    "sew",
    "torch",
    "bake",
    "rewire",
    "glaze",
    "stitch",
]
PRONOUN_CLAUSES = (
    "{} them",
    "{} each of them",
    "then {} it",
    "if so, {} these",
    "otherwise {} all of them",
)
NO_RESULTS = (
    "{}. Put the count into <:y: int>.",
    "{}, and put the count into <:y: int>.",
    "If <text> is empty, {}. Put the first of <rows> into <:y: str>.",
    "{}; <:y: int> is how many there were.",
    "Put the number of <rows> into <:y: int>, and {}.",
    "Put the number of <rows> into <:y: int>. Then {}.",
    "Read <rows> (and {}). Put the best into <:y: str>.",
    "- Read <rows>.\n        - {}.\n        - Put the count into <:y: int>.",
)
RESULTS = (
    "{}, and put the result into <:y: list[str]>.",
    "{}. Put them into <:y: str>.",
    "{}: <:y: str>.",
    "{}, in <:y: list[str]>.",
    "{}; the result is <:y: str>.",
    "{}, and save the new ones in <:y: list[str]>.",
    "Is it wise to {}? Put the answer into <:y: str>.",
    "Put into <:y: bool> whether one should {}.",
)


@pytest.mark.parametrize("verb", UNKNOWN_VERBS)
def test_an_unknown_verb_is_a_change_if_no_output_takes_its_result(verb: str) -> None:
    clauses = [clause.format(verb) for clause in CLAUSES]
    about = [clause.format(verb) for clause in PRONOUN_CLAUSES]
    for frame in NO_RESULTS:
        for clause in clauses + about * ("<rows>" in frame.partition("{")[0]):
            (found, *_) = compile_text(frame.format(clause)).diagnostics or [None]
            assert found is not None, frame.format(clause)
            assert found.code == "NJ305"
    for frame in RESULTS:
        for clause in clauses:
            assert not compile_text(frame.format(clause)).diagnostics, frame.format(clause)


@pytest.mark.parametrize("type_", ["Sequence[str] | None", "tuple[str, ...] | None"])
def test_a_value_that_may_be_none_is_a_collection_all_the_same(type_: str) -> None:
    program = PROGRAM.replace("rows: Sequence[str]", f"rows: {type_}")
    for text, is_reported in [
        ("Launder <rows>. Put the count into <:y: int>.", True),
        ("Count <rows>. Put the count into <:y: int>.", False),
    ]:
        compilation = compile_source(SourceFile("p.njpy", program.format(text).encode()))
        assert ["NJ305"] * is_reported == [each.code for each in compilation.diagnostics]


def test_a_request_about_several_inputs_is_reported_once() -> None:
    text = "Read <rows> and <self.tags>. Launder them. Put the count into <:y: int>."
    assert len(compile_text(text).diagnostics) == 1


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ("Launder <rows> and return them.", False),
        ("Shorten <rows> to one line, and return it.", False),
        ("Launder <rows>. Return the laundered rows.", False),
        ("Sort <rows> and return them.", False),
        ("Reverse <rows>. Return it.", False),
        ("Capitalize <rows>, then return the capitalized ones.", False),
        ("Append what is missing to <rows>, and return the new list.", False),
        ("Replace the colours in <rows> by words. Return the result.", False),
        ("Remove the duplicates from <rows> and return the result.", False),
        ("Remove the rude ones from <rows> and return what is left.", False),
        ("Translate each of <rows>; return the translations.", False),
        ("Tidy <rows> up. Return the tidy list.", False),
        ("Shuffle <rows> and return the first three.", True),
        ("Drop the last of <rows>, and return the dropped one.", True),
        ("Sort <rows> in place and return them.", True),
        ("Remove the first of <rows> and return it.", True),
        ("Increase <self.count> and return it.", True),
        ("Return the number of <rows>, and clear it.", True),
        ("Launder <rows> and return the longest.", True),
        ("Return 1 if <rows> are empty. Otherwise launder <rows>.", True),
    ],
)
def test_a_return_takes_a_result_as_an_output_does(text: str, is_reported: bool) -> None:
    source = PROGRAM.replace("return y", "return n").format(text)
    compilation = compile_source(SourceFile("p.njpy", source.encode()))
    assert ["NJ305"] * is_reported == [each.code for each in compilation.diagnostics]
    if not is_reported:
        assert compilation.authorities[0].effects == "answer"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Triage the errors in <rows>.", ["NJ305"]),
        ("Alphabetize the complaints in <rows>.", ["NJ305"]),
        ("Weed the failures out of <rows>.", ["NJ305"]),
        ("Throw the duplicates out of <rows>.", ["NJ305"]),
        ("If <rows> holds an error message, blank it.", ["NJ305"]),
        ("Run through <rows> and capitalize the names.", ["NJ305"]),
        ("Pop one of <rows> and print it.", ["NJ305"]),
        ("Alphabetize <rows>.", ["NJ211"]),
        ("Only the vegetables in <rows> should remain.", ["NJ211"]),
        ("If <text> is too long, shorten it.", ["NJ211"]),
        ("File <rows> under the right letter.", ["NJ305"]),
        ("Sort <rows> and print them.", []),
        ("Shorten each of <rows>, and print it.", []),
        ("Write <rows> to the file fruits.txt.", []),
        ("Raise ValueError if <rows> holds an error message.", []),
        ("Give the user an error if <rows> is empty.", []),
        ("Reject <rows> if they are empty.", []),
        ("Send everyone in <rows> a greeting.", []),
        ("Notify each of <rows>.", []),
    ],
)
def test_a_change_in_a_block_without_an_output_is_reported(text: str, codes: list[str]) -> None:
    """Also if words such as `error` may mean more than they do, so that it is not certain that the block is idle."""
    source = PROGRAM.replace("return y", "return n").format(text)
    found = compile_source(SourceFile("p.njpy", source.encode())).diagnostics
    assert [each.code for each in found] == codes


@pytest.mark.parametrize(
    "text",
    [
        "Put the names in <rows> into <:y: list[str]>, and order them.",
        "Put the names in <rows> into <:y: list[str]>, and launder them.",
        "Put the gist of <rows> into <:y: str>. Launder it.",
    ],
)
def test_a_pronoun_behind_an_output_that_is_no_number_means_the_output(text: str) -> None:
    assert not compile_text(text).diagnostics


@pytest.mark.parametrize(
    "text",
    [
        "Put into <:y: int> the number of\n        letters in <rows>.",
        'Some "words" of interest:\n        words of <rows> that rhyme. Put one into <:y: str>.',
    ],
)
def test_a_line_that_continues_a_sentence_is_no_request(text: str) -> None:
    assert not compile_text(text).diagnostics


def test_an_explicit_form_says_that_nothing_is_changed() -> None:
    source = PROGRAM.replace("natural", 'natural(effects="answer")')
    text = source.format("Restock <rows>. Put the count into <:y: int>.")
    assert not compile_source(SourceFile("p.njpy", text.encode())).diagnostics


TARGETS = {
    "rows": ("<rows>", "the first of <rows>", "each of <rows>", "the <rows>"),
    "self.tags": ("<self.tags>", "all of <self.tags>"),
    "self.name": ("<self.name>",),
    "self.count": ("<self.count>",),
    "Shop.total": ("<Shop.total>",),
}
ON_THE_TARGET = (
    *("update {}", "overwrite {}", "reset {}", "set {} to <n>", "change {} to <n>", "replace {} by <n>"),
    *("swap {} and <n>", "modify {}", "clear {}", "double {}", "increase {} by <n>", "fill {} with <n>"),
    *("{} must be updated", "{} has to be emptied", "{} should then be changed"),
    *("reduce {} by <n>", "expand {} by <n>", "bind {} to <n>", "raise {} by <n>", "give {} a new value"),
)  # fmt: skip
INTO_THE_TARGET = (
    *(
        "add <n> to {}",
        "append <n> to {}",
        "put <n> into {}",
        "store <n> in {}",
        "assign <n> to {}",
    ),
    *("save the <text> in {}", "write <n> into {}", "record <n> in {}", "enter <n> in {}"),
    *("inject <n> into {}", "merge <text> into {}", "deposit <n> into {}", "include <n> in {}"),
)
OUT_OF_THE_TARGET = (
    *("remove <n> from {}", "delete <n> from {}", "pop the last off {}", "drop each <n> in {}"),
    *("take <n> out of {}", "erase <n> from {}", "pop one of {}"),
    *(
        "eliminate <n> from {}",
        "get rid of <n> in {}",
        "subtract <n> from {}",
        "strike <n> from {}",
    ),
    *("keep only the long ones in {}", "filter out <n> from {}", "throw away {}"),
)
LEADS = (
    *(
        "",
        "Please ",
        "Now ",
        "You should ",
        "Just ",
        "Then ",
        "First, ",
        "1. ",
        "- ",
        "(1) ",
        "Kindly ",
    ),
    *(
        "If <n> is odd, ",
        "If <n> is odd ",
        "For each letter of <text> ",
        "Otherwise ",
        "Remember to ",
    ),
    *(
        "Read <text> and ",
        "Count <text>; then ",
        "I want you to ",
        "Make sure to ",
        "Look at <text>. ",
    ),
)
RESTS = (
    *(
        ", and put the length of <text> into <:y: int>.",
        ". Put the length of <text> into <:y: int>.",
    ),
    *(
        "; put the length of <text> into <:y: int>.",
        ". Then set <:y: int> to the length of <text>.",
    ),
    ".\n\n        The length of <text> is <:y: int>.",
)
FIRST = "Put the length of <text> into <:y: int>{}{}."
JOINTS = (", and ", ". ", "; ", ", then ", ". Also ", ".\n\n        ", ". Please ", " and ")


def list_requests() -> list[tuple[str, str]]:
    """Return the requests with the paths of their targets; only the target can be changed by each."""
    requests = []
    for path, forms in TARGETS.items():
        is_container = path in ("rows", "self.tags")
        verbs = ON_THE_TARGET + INTO_THE_TARGET + OUT_OF_THE_TARGET * is_container
        requests += [(path, verb.format(form)) for verb in verbs for form in forms]
    return requests


@pytest.mark.parametrize("number", range(len(TARGETS)))
def test_no_change_that_a_text_asks_for_is_dropped_silently(number: int) -> None:
    silent = []
    requests = [each for each in list_requests() if each[0] == list(TARGETS)[number]]
    for at, (path, request) in enumerate(requests):
        chosen = [
            (LEADS[(at + 5 * k) % len(LEADS)], RESTS[(at + k) % len(RESTS)]) for k in range(3)
        ]
        texts = [
            lead + (request if lead else request[0].upper() + request[1:]) + rest
            for lead, rest in chosen
        ]
        texts.append(FIRST.format(JOINTS[at % len(JOINTS)], request))
        silent += [text for text in texts if path not in find_changed(text)]
    assert silent == []
