// Where the prompts of a Python text are, for colors in .py files; the grammar does it in .njpy files.

/** A range of offsets in a text. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The markers and the references of the prompts of a text. */
export interface Prompts {
  readonly markers: readonly Range[];
  readonly references: readonly Range[];
}

const OPENING = /^[ \t]*[rRuUfF]{0,2}("""|''')(natural|prompt)[ \t]*(?:\([^\r\n]*\))?[ \t]*$/gm;
const KEYWORDS =
  "False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|" +
  "if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield";
const NAME = `(?!(?:${KEYWORDS})(?![\\p{L}\\p{N}_]))[\\p{L}_][\\p{L}\\p{N}_]*`;
const PATH = `${NAME}(?:\\.${NAME})*`;
const TYPE = `(?!\\s*>)(?:"[^"\\n]*"|'[^'\\n]*'|->|[^<>"'\\n])+`;
const REFERENCE = new RegExp(`<<|<:?(${PATH})>|<:(${PATH})[ \\t]*:${TYPE}>`, "gu");

/** Find the prompts of a Python text: strings that begin a line and whose first line is a marker. */
export function findPrompts(text: string): Prompts {
  const markers: Range[] = [];
  const references: Range[] = [];
  OPENING.lastIndex = 0;
  for (let opened = OPENING.exec(text); opened; opened = OPENING.exec(text)) {
    const [whole, quotes, word] = opened;
    const end = text.indexOf(quotes, opened.index + whole.length);
    if (end < 0) {
      break;
    }
    const start = opened.index + whole.indexOf(quotes) + 3;
    markers.push({ start, end: start + word.length });
    const prompt = text.slice(opened.index + whole.length, end);
    for (const found of prompt.matchAll(REFERENCE)) {
      const from = opened.index + whole.length + found.index;
      const closing = found[0].startsWith("<:") ? undefined : `</${found[1]}>`;
      if (found[0] !== "<<" && !(closing && prompt.includes(closing))) {
        references.push({ start: from, end: from + found[0].length });
      }
    }
    OPENING.lastIndex = end + 3;
  }
  return { markers, references };
}
