'''From programs written for `nightjarpy` to natural code.

    import nightjarpy as nj                     (removed)

    @nj.fn(config=FAST)                         (removed: the blocks have the options)
    def judge(mail):                            def judge(mail):
        """natural                                  """natural(model="openai/gpt-5.1")
        Is <mail> spam? Set <:spam>.                Is <mail> spam? Set <:spam>.
        """                                         """
        return spam                                 return spam

    bytes  ──codemod──>  text  ──compiler──>  text, remarks, diagnostics

A codemod over LibCST's concrete syntax tree: comments and formatting are kept. Each nightjarpy
feature without an equivalent gets a `Remark`.
'''
