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
Pick the first off <items>. Put the count into <:n: int>.
See that <items> is sorted. Put the count into <:n: int>.
See <items> sorted. Put the count into <:n: int>.
Calculate the totals of <items> below each. Put the count into <:n: int>.
Check the typos in <items> away, and put the count into <:n: int>.
Consider <items> sorted from here on; <:n: int> is the count.
Know that <items> must be sorted. Put the count into <:n: int>.
Given <items>, none longer than ten letters may survive, and put the count into <:n: int>.
When <words> is empty, <items> is to be, too, and put the count into <:n: int>.
For each of <items>, a dot follows, and put the count into <:n: int>.
Is one of <words> in <items>? If not, it should be, and put the count into <:n: int>.
After reading <words>, <items> has one more, and put the count into <:n: int>.
Break <items> into two. Put the count into <:n: int>.
Continue <items> with <words>. Put the count into <:n: int>.
Return <items> to its original order. Put the count into <:n: int>.
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
Sort <items> by urgency and put the first into <:n: int>.
Give the sword to <items>; put its name into <:n: int>.
Mark the first of <items> as done; put its name into <:n: int>.
Put the number of <items> into <:n: int> and clear it.
Put the number of <items> into <:n: int>, emptying it on the way.
Put the best of <items> into <:n: int>, dropping it from the list.
Pop the next task from <items> into <:n: int>.
Take the first item of <items> as <:n: int>.
Take the first item out of <items> as <:n: int>.
Read the next line of <items> into <:n: int>.
Draw a card from <items> into <:n: int>.
Roll the dice in <items> and put the number into <:n: int>.
Withdraw 5 coins from <items>; put the rest into <:n: int>.
Move the most urgent of <items> to <:n: int>.
Split the head off from <items> into <:n: int>.
Put the best of <items> into <:n: int>; it is then no longer in the list.
Assign the worst of <items> to <:n: int> and forget it there.
Book a seat in <items>; put its number into <:n: int>.
Put into <:n: int> what <items> loses when its oldest goes.
Transfer the first of <items> into <:n: int>.
Put into <:n: int> how many of <items> you deleted because they were empty.
Delete all empty <items>, and put the number into <:n: int>.
Put the number of <items> into <:n: int> after removing duplicates.
Put the number of <items> into <:n: int> after duplicates are gone.
Without duplicates, count <items> into <:n: int>.
Once <items> has no duplicates, put its length into <:n: int>.
Count <items> into <:n: int>, each in capital letters from now on.
<items> should be sorted. Put the first into <:n: int>.
Make sure that <items> has no empty texts, and put the number into <:n: int>.
Ensure <items> is sorted; put the first into <:n: int>.
Have <items> sorted, and put the first into <:n: int>.
Let <items> be in order. Put the first into <:n: int>.
Put the worst of <items> into <:n: int> and replace it there by "none".
Put into <:n: int> the worst of <items>, which becomes "none".
Update <items> and put the number of changes into <:n: int>.
Swap the first two <items>, and put the first into <:n: int>.
Put the mood of <items> into <:n: int>, and append it to the list.
Put the mood of <items> into <:n: int>, and to the list too.
Put the mood of <items> into <:n: int> and, if it is bad, at the end of the list.
Rate <items> by one to five into <:n: int>, tidying as you go.
Judge <items> and bind <:n: int>. Then they are all lower case.
Translate <items> in place, and put the language into <:n: int>.
Normalize <items>; put the number of changes into <:n: int>.
Count the votes in <items> into <:n: int> and reset them.
Tell in <:n: int> whether <items> is empty, and if so add "nothing".
Put into <:n: int> whether <items> is empty, otherwise shorten it.
Put the longest of <items> into <:n: int>. Trim it there.
Put the longest of <items> into <:n: int>. No copy of it stays behind.
Put the longest of <items> into <:n: int>. The list must not contain it afterwards.
Put the longest of <items> into <:n: int>. Afterwards the list is empty.
Put the longest of <items> into <:n: int>. The list ends up shorter.
Put the longest of <items> into <:n: int>. From then on the list starts with it.
Put the mood of <items> into <:n: int> and into the list.
Put the mood of <items> into <:n: int> as well as into <items>.
Save the mood of <items> as <:n: int>, also as the last item.
Bind <:n: int> to the mood of <items>, and the first item to it.
Set <:n: int> and the first of <items> to the mood.
Set <:n: int> to the first of <items> and the first of them to "none".
Put the mood into <:n: int> and <items>.
Put "a" into <:n: int> and <items>.
Store the mood in <:n: int> and in the list of <items>.
Given <items>, put the first into <:n: int>, then the list is empty.
Given <items>, the first is <:n: int> and the rest is thrown away.
For each of <items>, make it lower case. Put the number into <:n: int>.
For each of <items> count one into <:n: int> and make it lower case.
For each of <items> its first letter is a capital from then on. Put the number into <:n: int>.
If <items> has more than three, the fourth is wrong and has to leave. Put the number into <:n: int>.
If <items> has more than three, only three are kept. Put the number into <:n: int>.
If <items> has more than three, only the best three survive. Put the number into <:n: int>.
If <items> is empty, it gets "none". Put the first into <:n: int>.
If <items> is empty, it has to contain "none". Put the first into <:n: int>.
If <items> is empty, there should be "none" in it. Put the first into <:n: int>.
When <items> is empty, "none" is its only item. Put the first into <:n: int>.
Otherwise <items> is reduced to one. Put the first into <:n: int>.
After this <items> is sorted. Put the first into <:n: int>.
Before you put the first of <items> into <:n: int>, they are sorted.
Before putting the first of <items> into <:n: int>, sort.
Count <items> into <:n: int>; each counts only once, so doubles disappear.
Count <items> into <:n: int>, minus the empty ones, which are deleted.
Count <items> into <:n: int>, with the empty ones deleted.
Count <items> into <:n: int>, the empty ones removed.
Choose the best of <items> as <:n: int>, and it comes first.
Choose the best of <items> as <:n: int>; the others lose their place.
Choose the best of <items> as <:n: int>, the rest are dismissed.
Choose the best of <items> as <:n: int> (it leaves the list).
Pick one of <items> as <:n: int> (and take it out).
Pick one of <items> as <:n: int>, without it the list is complete.
Pick one of <items> as <:n: int>, whose place "none" takes.
Decide in <:n: int> whether <items> needs sorting, and if so, do it.
Decide in <:n: int> whether <items> needs sorting, and do so if it does.
Decide in <:n: int> whether <items> needs sorting; if it does, sorted it is.
Decide whether <items> are in order into <:n: int>, fixing those that are not.
Decide whether <items> are in order into <:n: int>, correcting mistakes.
Decide whether <items> are in order into <:n: int>, with mistakes corrected in the list.
Find mistakes in <items>, put their number into <:n: int>, correct.
Find mistakes in <items> and correct them, and put their number into <:n: int>.
Find and correct mistakes in <items>, and put their number into <:n: int>.
Rate and sort <items>, and put the best into <:n: int>.
Read and clear <items>; put the number into <:n: int>.
Compare and merge <items>; put the number into <:n: int>.
Think about <items>, order by length, put the first into <:n: int>.
Let <:n: int> be the first of <items>, let it be gone there.
Assign the first of <items> to <:n: int> and "none" to the first of <items>.
Estimate the length of <items> as <:n: int>, capitalised.
Put into <:n: int> the number of <items> you could improve, having improved them.
Put into <:n: int> how many <items> were too long and had to be cut.
Put into <:n: int> the first of the sorted <items>, sorted for good.
Put into <:n: int> the first of <items>, with all of them upper-cased.
Put into <:n: int> the first of <items>, all upper-cased.
Count <items>, the number is <:n: int>, the list is new.
Judge <items>. Only the good ones count. Put the number into <:n: int>.
Put into <:n: int> the first of <items> if it is long, if not remove it.
Put into <:n: int> the first of <items> if it is long, otherwise nothing but delete it.
Put into <:n: int> the first of <items> if long; if short delete.
Put the first of <items> into <:n: int> that leaves the list.
Put <:n: int> the first of <items> that then goes.
Read <items>, correct, and put the number into <:n: int>.
Read <items> with care, corrections included, and put the number into <:n: int>.
Look at <items> until none is too long by cutting, and put the number into <:n: int>.
Look at each of <items> to shorten it. Put the number into <:n: int>.
Check <items> to fix mistakes, and put their number into <:n: int>.
Examine <items> for mistakes to be fixed by you, and put their number into <:n: int>.
Examine <items> for a fix. Apply. Put the number of fixes into <:n: int>.
Find what is wrong in <items> to correct it, and put the number into <:n: int>.
Decide what to do with <items> and do it. Put the number into <:n: int>.
Decide what to do with <items> and act. Put the number into <:n: int>.
Decide which of <items> to remove, doing so, into <:n: int>.
Choose three of <items> to keep. Put the first into <:n: int>.
Choose three of <items> to stay, the others go. Put the first into <:n: int>.
Identify empty <items> and their removal is up to you. Put the number into <:n: int>.
Extract the numbers out of <items> so they are without numbers, the sum into <:n: int>.
Extract and remove the numbers of <items> into <:n: int>.
Extract <:n: int> from <items>, it should not be there any more.
Parse <items> to numbers in the list. Put the sum into <:n: int>.
Rate each of <items> in the list with a number behind it. Put the highest into <:n: int>.
Score each of <items> behind it. Put the highest into <:n: int>.
Describe each of <items> in it. Put the number into <:n: int>.
Answer each of <items> below it. Put the number into <:n: int>.
Provide each of <items> with a number. Put the highest into <:n: int>.
Assign a number to each of <items>. Put the highest into <:n: int>.
Assign each of <items> a number. Put the highest into <:n: int>.
Give each of <items> a number, the highest to <:n: int>.
Give <items> a title. Put its length into <:n: int>.
Give a title to <items>, its length to <:n: int>.
Put a title in <items>, its length in <:n: int>.
Set a title for <items> and <:n: int> to its length.
Store a title at the top of <items> and its length in <:n: int>.
Save <items> sorted, and the first in <:n: int>.
Write <items> anew, the first of them is <:n: int>.
Let none of <items> be empty, and <:n: int> their number.
Let there be no empty ones in <items>, and <:n: int> their number.
Bind each of <items> to its length, and <:n: int> to the sum.
<:n: int> is the number of <items>. None of them may be empty.
<:n: int> is the number of <items> which may not be empty from now.
<:n: int> is the number of <items> when cleaned by you.
<:n: int> is the number of <items>, none of which is to be empty then.
How many of <items> are empty? Those go. The number is <:n: int>.
How many of <items> are empty? <:n: int>, and out with them.
Which of <items> are empty? Out with them. <:n: int> is the number.
Is <items> sorted? If not, see to it. Put the answer into <:n: int>.
Is <items> sorted? Otherwise sort. Put the answer into <:n: int>.
Is <items> sorted? Else it has to be. Put the answer into <:n: int>.
Are there empty <items>? If so, none may be left. Put the answer into <:n: int>.
Score each of <items> in its field `score`, and put the mean into <:n: int>.
Score each of <items> in its score, and put the mean into <:n: int>.
Score each of <items> in `score`, and put the mean into <:n: int>.
Score each of <items> under "score", and put the mean into <:n: int>.
Rate <items> in their field rating, and put the best into <:n: int>.
Rate each of <items> with a number in its key stars, and put the mean into <:n: int>.
Rate every entry of <items> by a number next to it, and put the mean into <:n: int>.
Classify each of <items> in its attribute kind, and put the number of kinds into <:n: int>.
Classify each of <items> with a label attached to it, and put the number of labels into <:n: int>.
Compute the total of each of <items> in its field total, and put the sum into <:n: int>.
Compute the total of each of <items> as its total, and put the sum into <:n: int>.
Estimate each missing price of <items> in place of the gap, and put the sum into <:n: int>.
Count each of <items> in its counter, and put the sum into <:n: int>.
Assign each of <items> a rank and put the best into <:n: int>.
Assign each of <items> its rank, the best is <:n: int>.
Assign ranks among <items>, and put the best into <:n: int>.
Assign every one of <items> a colour, then put the number of colours into <:n: int>.
Assign a team to each of <items> and put the number of teams into <:n: int>.
Assign <items> ranks and put the best into <:n: int>.
Give each of <items> a rank and put the best into <:n: int>.
Set each of <items> to its rank and put the best into <:n: int>.
Set a rank on each of <items> and put the best into <:n: int>.
Write a comment for each of <items> and put the number of comments into <:n: int>.
Write a comment under each of <items> and put the number of comments into <:n: int>.
Save each rank of <items> with it and put the best into <:n: int>.
Store the rank of each of <items> and put the best into <:n: int>.
Bind a rank in each of <items> and put the best into <:n: int>.
Provide each of <items> a rank and put the best into <:n: int>.
Describe each of <items> in its field description and put the number into <:n: int>.
Summarize each of <items> in its summary and put the number into <:n: int>.
Decide for each of <items> its status field, and put the number of open ones into <:n: int>.
Determine the status of each of <items> as its new status, and put the number of open ones into <:n: int>.
For each of <items>, compute its total in its field total. Put the sum into <:n: int>.
For each of <items>, judge its mood under the key mood. Put the best into <:n: int>.
Judge each of <items> by a mark in its margin. Put the number of marks into <:n: int>.
Compute the ranks of <items> in the entries of it. Put the best into <:n: int>.
Guess the age of each of <items> into its age. Put the mean into <:n: int>.
Infer the language of each of <items> into its field language. Put their number into <:n: int>.
Parse the date of each of <items> into its field date, and put the latest into <:n: int>.
Parse the dates in <items> to dates, and put the latest into <:n: int>.
Check each of <items> off and put the number into <:n: int>.
Pick a name for each of <items> and put the number of names into <:n: int>.
Choose a new title for each of <items> in it, and put the number into <:n: int>.
Find a replacement for each of <items> to take its place, and put the number into <:n: int>.
Put the mean of the scores into <:n: int> that each of <items> gets.
Score <items> on the spot, a number to each, and put the mean into <:n: int>.
Extract the year of each of <items> to its field year, and put the first into <:n: int>.
Let each of <items> have a rank; put the best into <:n: int>.
Rate each of <items>, with the rate as its last word, and put the best into <:n: int>.
Rate <items>, the rate goes next to each, and put the mean into <:n: int>.
Put into <:n: int> the mean score of <items>, each getting its own.
Find the cheapest of <items> and flag it; put its price into <:n: int>.
Look up the price of each of <items>, add it to it, and put the sum into <:n: int>.
Compute for each of <items> the total (as a new field), and put the sum into <:n: int>.
Compute the total for each of <items> and keep it with it; put the sum into <:n: int>.
Estimate the age of <items> and note it down there; put the mean into <:n: int>.
Determine a team for each of <items>, to be stored with them, and put the number into <:n: int>.
Decide on a category for <items>, labelled accordingly, and put the number into <:n: int>.
Compare <items> with <words>, taking over what is better, and put the number into <:n: int>.
Extract the names from <items> to <words>, and put their number into <:n: int>.
Parse <items> into <words>, and put their number into <:n: int>.
Read <items> into <words>, and put their number into <:n: int>.
Pick three of <items> into <words>, and put their number into <:n: int>.
Summarize <items> in <words> and put the number into <:n: int>.
Put the mean of <items> into <:n: int> and <words>.
Score <items> by <words>, with each score in <words>, and put the mean into <:n: int>.
Check <items> as done, and put their number into <:n: int>.
Check off <items>, and put their number into <:n: int>.
Think of a title for <items>, give it to them, and put its length into <:n: int>.
Identify duplicates in <items> with a star, and put their number into <:n: int>.
Calculate interest on <items> onto the balance, and put the sum into <:n: int>.
Calculate the new price of <items>, ten percent lower from now on, and put the sum into <:n: int>.
Compute new prices for <items>, which are to have them, and put the sum into <:n: int>.
Infer missing values of <items> in place, and put their number into <:n: int>.
Guess what is missing in <items>, complete it, and put the number into <:n: int>.
Put the sum of <items> into <:n: int> and the rest into a new field.
Put the sum of <items> into <:n: int>, their mean at the end of the list.
Judge <items>, with the verdict in <words>, and put the count into <:n: int>.
Judge <items>, the verdict in <words>, and put the count into <:n: int>.
Count <items> by name in <words>; put the sum into <:n: int>.
Count <items> in <words>, and put the sum into <:n: int>.
In <words> count the <items>, and put the sum into <:n: int>.
In <words>, count the <items>; <:n: int> is the sum.
Rate <items> in <words>. Put the best into <:n: int>.
Rate each of <items> on the <words>. Put the best into <:n: int>.
Parse <items> as <words> and put the count into <:n: int>.
Read <items> as the <words>, and put the count into <:n: int>.
Classify <items> under <words>, and put the count into <:n: int>.
Compare <items> in the <words>; put the number into <:n: int>.
Put into <:n: int> the best of <items> with each priced.
Give <:n: int> the count of <items> with all capitalised.
Put into <:n: int> the count of <items> with those in capital letters.
Read the next of <items> into <:n: int>.
Extract the names of <items> as <words>. Put the count into <:n: int>.
Pop the best of <items>, and put it into <:n: int>.
Put "x" in <items>, and the count into <:n: int>.
Put the number of <items> into <:n: int>. Store "x" in <words>.
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
Decide whether <words> is in <items>, and put 1 or 0 into <:n: int>.
Put into <:n: int> how often <words> occurs in <items>.
Is one of <words> in <items>? Put 1 or 0 into <:n: int>.
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
