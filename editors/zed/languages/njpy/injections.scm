; Prompts of natural code are Markdown: strings that are statements and begin with the line `natural`.

((expression_statement
  .
  (string
    .
    (string_start) @_quotes
    .
    (string_content) @_prompt @content
    (string_content)* @content)
  .)
  (#match? @_quotes "^[rRuUfF]*(\"\"\"|''')$")
  (#match? @_prompt "^(natural|prompt)[ \t]*(\\([^\r\n]*\\))?[ \t]*(\r\n|\n|\r)")
  (#set! language "markdown-inline"))
