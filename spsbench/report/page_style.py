"""How the page looks: one style for light and dark, phone and desk, screen and paper.

<style>{STYLE}</style>
"""

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --soft: #5b6570; --line: #d8dde3;
  --ours: #1257a8; --wash: #e9f1fb; --theirs: #6b7480; --pale: #f5f7f9;
  --in: #1257a8; --cached: #9cc1ea; --out: #d9822b; --build: #7a8794;
  --l0: #f7d9d2; --l1: #fbe8c8; --l2: #f4f1cf; --l3: #cfe8d0; --l4: #8fcfa0; --cell: #14181c;
  --c1: #1257a8; --c2: #b4540a; --c3: #1f7a4d; --c4: #8a3ab0; --c5: #8c6d00; --c6: #b0305c; }
@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --ink: #e8ecf0; --soft: #a3adb8;
  --line: #343c45; --ours: #7db4f2; --wash: #1b2b3e; --theirs: #9aa4af; --pale: #1b2026;
  --in: #5b9be6; --cached: #2f5684; --out: #e39a4d; --build: #7a8794;
  --l0: #5e2c24; --l1: #5f4620; --l2: #56541f; --l3: #2c5535; --l4: #2f7d48; --cell: #fff;
  --c1: #7db4f2; --c2: #f0a062; --c3: #6fcf9c; --c4: #cf95ea; --c5: #d9bd4f; --c6: #f08cb0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.2rem); line-height: 1.2; margin: .5rem 0 1rem; text-wrap: balance; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .75rem; }
p, ul, dl { max-width: 46rem; }
ul { padding-left: 1.2rem; } li { margin: .4rem 0; }
small { color: var(--soft); }
.answer { font-size: 1.15rem; border-left: 4px solid var(--ours); padding: .5rem 0 .5rem 1rem; margin: 1rem 0; }
.scroll { overflow-x: auto; margin: 1rem 0 .5rem; }
table { border-collapse: separate; border-spacing: 0; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; }
th:first-child { position: sticky; left: 0; text-align: left; background: var(--ground); padding-left: .2rem; }
tbody th { font-weight: 400; } tbody th small { display: block; font-weight: 400; }
tr.theirs > *, td.theirs { color: var(--theirs); }
details tr.ours > *, td.ours { background: var(--wash); font-weight: 600; }
td.words, th.words { white-space: normal; text-align: left; } td.words { min-width: 12rem; }
.scroll ~ p { margin: .3rem 0; }
@media (max-width: 34rem) { table { font-size: .8125rem; } th, td { padding: .3rem .45rem; }
  tbody th { white-space: normal; min-width: 7.5rem; max-width: 9.5rem; overflow-wrap: break-word; } }
details { border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0; padding: 0 .9rem; }
summary { cursor: pointer; padding: .65rem 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1rem; }
figure { margin: 0; max-width: 30rem; } figcaption { font-weight: 600; font-size: .95rem; margin-bottom: .25rem; }
svg { display: block; width: 100%; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .tick { fill: var(--soft); font-size: 10.5px; }
svg .title { font-weight: 600; } svg .cell { fill: var(--cell); font-size: 9.5px; }
.grid { stroke: var(--line); } .lead { stroke: var(--soft); } .origin { fill: var(--soft); }
g.ours circle { fill: var(--ours); } g.ours text { fill: var(--ground); font-weight: 600; }
g.theirs circle { fill: var(--ground); stroke: var(--theirs); stroke-width: 1.5; }
circle.passed { fill: var(--ours); fill-opacity: .55; } circle.failed { fill: none; stroke: var(--out); stroke-width: 1.3; }
.in { fill: var(--in); background: var(--in); } .cached { fill: var(--cached); background: var(--cached); }
.out { fill: var(--out); background: var(--out); } .build { fill: var(--build); background: var(--build); }
.level0 rect { fill: var(--l0); } .level1 rect { fill: var(--l1); } .level2 rect { fill: var(--l2); }
.level3 rect { fill: var(--l3); } .level4 rect { fill: var(--l4); }
.missing { fill: none; stroke: var(--line); stroke-dasharray: 2 2; }
.line { fill: none; stroke-width: 2; }
.line.c1 { stroke: var(--c1); } .line.c2 { stroke: var(--c2); } .line.c3 { stroke: var(--c3); }
.line.c4 { stroke: var(--c4); } .line.c5 { stroke: var(--c5); } .line.c6 { stroke: var(--c6); }
circle.c1, g.c1 circle { fill: var(--c1); } circle.c2, g.c2 circle { fill: var(--c2); }
circle.c3, g.c3 circle { fill: var(--c3); } circle.c4, g.c4 circle { fill: var(--c4); }
circle.c5, g.c5 circle { fill: var(--c5); } circle.c6, g.c6 circle { fill: var(--c6); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .875rem; max-width: none; align-items: center; }
.key { display: inline-block; width: .9rem; height: .9rem; border-radius: 2px; }
dt { font-weight: 600; margin-top: .6rem; } dd { margin: 0; overflow-wrap: anywhere; }
@media print { details > * { display: block; } }
"""
