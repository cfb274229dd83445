"""A language server for natural programs: `njc lsp`.

    texts/     an open text: its names, findings and blocks  Document
    answers/   completion, hover, rename, ...                functions of a `Document` and an offset
    serving/   the Language Server Protocol, using pygls     make_server

Only `serving` knows about the protocol.
"""
