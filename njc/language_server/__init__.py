"""A language server for natural programs: `njc lsp`.

    documents  ─>  analysis of one text  ─>  completion, hover, rename, ...  ─>  the protocol (server.py)

The modules that answer are pure functions of a `Document` and an offset; only server.py knows the protocol and pygls.
"""
