(identifier) @variable
(attribute attribute: (identifier) @property)
(type (identifier) @type)
(call function: (identifier) @function)
(call function: (attribute attribute: (identifier) @function.method))
(function_definition name: (identifier) @function)
(class_definition name: (identifier) @type)
(decorator) @attribute
(keyword_argument name: (identifier) @variable.parameter)
(parameters (identifier) @variable.parameter)
(typed_parameter (identifier) @variable.parameter)
(default_parameter name: (identifier) @variable.parameter)
(typed_default_parameter name: (identifier) @variable.parameter)

[(none) (true) (false)] @constant.builtin
[(integer) (float)] @number
(comment) @comment
(string) @string
(escape_sequence) @string.escape
(interpolation "{" @punctuation.special "}" @punctuation.special) @embedded

[
  "as" "assert" "async" "await" "break" "class" "continue" "def" "del" "elif" "else" "except" "finally" "for"
  "from" "global" "if" "import" "lambda" "nonlocal" "pass" "raise" "return" "try" "while" "with" "yield" "match"
  "case" "and" "in" "is" "not" "or"
] @keyword

["+" "-" "*" "/" "//" "%" "**" "=" "==" "!=" "<" ">" "<=" ">=" "->" "|" "&" "^" "~" "<<" ">>" ":=" "+=" "-="] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" ";" "."] @punctuation.delimiter
