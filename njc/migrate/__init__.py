'''From programs written for `nightjarpy` to natural code.

    import nightjarpy as nj                     (gone)

    @nj.fn(config=FAST)                         (gone: the blocks have the options)
    def judge(mail):                            def judge(mail):
        """natural                                  """natural(model="openai/gpt-5.1")
        Is <mail> spam? Set <:spam>.                Is <mail> spam? Set <:spam>.
        """                                         """
        return spam                                 return spam

    bytes  ──codemod──>  text  ──compiler──>  text, remarks, diagnostics

A codemod over LibCST's concrete syntax tree: comments and formatting stay as they are. Each
feature of nightjarpy without an equivalent gets a `Remark`.
'''
