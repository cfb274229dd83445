"""A language server for natural programs: `njc lsp`.

    texts/         an open text, and what is known of it             Document
    answers/       completion, hover, rename, ...                    functions of a `Document` and an offset
    serving/       the Language Server Protocol, by pygls            make_server

Only `serving` knows the protocol.
"""
