"""Static mode: a model writes the Python that stands for a block when the program is built.

SourceFile -> [Hole] -> (Request <-> Reply) -> code -> [refusal] -> njc.lock -> WrittenBlock -> compiled file

    binding      is every output bound on every path?
    showing      what of the program the model is shown
    fresh        names that are taken, and names that are not
    holes         where code is to stand, what it may see and must bind
    attributes   does the code speak of attributes that are not there?
    asking       are the questions that the code asks at run time well-formed?
    validate     all checks in their order; each failure is a message that the model can act on
    prompt       what the model is told, and how code is found in its replies
    unwrap       code that was sent with the program around it, without that program
    complete     code with the imports that it forgot
    generate     the conversation with the model, as a generator without I/O
    settle       accepted code as it is kept: fresh names, formatted
    place        kept code as it stands in the compiled file
    plan         for each hole: is its code locked, stale, missing
    build        all holes of a build: from the lock, or by asking models
    files        the same on disk
"""
