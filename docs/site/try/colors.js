// The colors of Python and of natural code, and the marks of findings, as nodes.
//
//     colorPython('x = "a"')            x = <span class="s1">"a"</span>
//     markFindings(text, findings)      the text, with <mark class="error"> around each finding

const TOKENS = new RegExp(
  [
    String.raw`(?<c1>#[^\n]*)`,
    String.raw`(?<s1>(?:\b[rbfu]{1,2})?(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))`,
    String.raw`(?<k>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|True|False|None)\b)`,
    String.raw`(?<mi>\b\d[\w.]*)`,
  ].join("|"),
  "g",
);
const BLOCK = /^[rfu]{0,2}("""|''')(natural|prompt)\b/;
const REFERENCE = /<:?[^\W\d][\w.]*(?::[^>\n]*)?>/g;

function span(kind, text) {
  const made = document.createElement("span");
  made.className = kind;
  made.append(text);
  return made;
}

function* split(text, pattern) {
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    yield [text.slice(end, match.index), match];
    end = match.index + match[0].length;
  }
  yield [text.slice(end), null];
}

export function colorPython(text) {
  const made = document.createDocumentFragment();
  for (const [before, match] of split(text, TOKENS)) {
    made.append(before);
    if (!match) continue;
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    made.append(BLOCK.test(match[0]) ? colorBlock(match[0]) : span(kind, match[0]));
  }
  return made;
}

function colorBlock(text) {
  const made = span("try-block", "");
  for (const [before, match] of split(text, REFERENCE)) {
    made.append(before, ...(match ? [span("nv", match[0])] : []));
  }
  return made;
}

export function markFindings(text, findings) {
  const lines = text.split("\n");
  const starts = lines.reduce((sums, line) => [...sums, sums.at(-1) + line.length + 1], [0]);
  const offset = (line, column) => starts[line - 1] + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  const made = document.createDocumentFragment();
  let end = 0;
  for (const finding of findings) {
    const from = offset(finding.line, finding.column);
    const to = Math.max(from + 1, offset(finding.end_line, finding.end_column));
    if (from < end) continue;
    const mark = document.createElement("mark");
    mark.className = finding.severity;
    mark.append(text.slice(from, to));
    made.append(text.slice(end, from), mark);
    end = to;
  }
  made.append(text.slice(end));
  return made;
}
