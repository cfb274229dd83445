; inherits: python
; Prompts of natural code are Markdown: strings that are statements and begin with the line `natural`.

((expression_statement
  .
  (string
    .
    (string_start) @_quotes
    .
    (string_content) @_prompt @injection.content
    (string_content)* @injection.content)
  .)
  (#match? @_quotes "^[rRuUfF]*(\"\"\"|''')$")
  (#match? @_prompt "^(natural|prompt)[ \t]*(\\([^\r\n]*\\))?[ \t]*(\r\n|\n|\r)")
  (#set! injection.language "markdown.inline"))
