"""How the page looks: light or dark as the reader has it, on a desktop and on a phone."""

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b2027; --soft: #5a6470; --line: #dbe0e6;
  --card: #f5f7f9; --now: #2563c9; --before: #c4670a; --good: #17784a; --bad: #bd3527;
  --del: #d5f0e0; --ins: #fbdcd8; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e4e8ec; --soft: #9aa5b1;
  --line: #323941; --card: #1c2127; --now: #74a9ff; --before: #f0a04b; --good: #5fd09a;
  --bad: #ff8d80; --del: #1d4a35; --ins: #5c2a25; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC",
  "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif; background: var(--paper);
  color: var(--ink); max-width: 66rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .4rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { margin: .3rem 0; } .note, .facts { color: var(--soft); }
.note, figcaption, .legend, .signatures, dt, .label { font-size: .875rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 1rem 0 1.4rem; font-size: .9rem; }
a { color: var(--now); text-decoration: none; } a:hover { text-decoration: underline; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .7rem .9rem; }
.tile b { display: block; font-size: 1.7rem; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .875rem; }
.tile small { display: block; font-size: .875rem; margin-top: .3rem; padding-top: .3rem;
  border-top: 1px solid var(--line); font-variant-numeric: tabular-nums; }
.good, .tile .good em { color: var(--good); } .bad, .tile .bad em { color: var(--bad); }
.tile .good, .tile .bad { color: var(--ink); }
em { font-style: normal; font-weight: 600; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .94rem; }
th, td { padding: .25rem 1.1rem .25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; } .n { text-align: right; white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
td:last-child { min-width: 15rem; } td.n:last-child { min-width: 0; }
td code { white-space: pre-wrap; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
td mark { background: var(--ins); color: inherit; border-radius: .2rem; padding: 0 .2rem; }
.bar { display: inline-block; height: .62rem; background: var(--before); border-radius: .15rem;
  vertical-align: baseline; min-width: 2px; }
.track { display: block; min-width: 9rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 1rem 2rem; margin: .8rem 0; }
figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; }
svg { display: block; width: 100%; height: auto; max-width: 34rem; }
svg text { fill: var(--soft); font-size: 11px; } svg .count { font-size: 10px; opacity: .8; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .mark { stroke: var(--soft);
  stroke-width: 1; stroke-dasharray: 3 3; }
svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
polyline.now { stroke: var(--now); } polyline.before { stroke: var(--before); }
polyline.thin { stroke-width: 1.2; stroke-dasharray: 5 3; }
circle.now, rect.now { fill: var(--now); } circle.before, rect.before { fill: var(--before); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; color: var(--soft); }
.legend i { display: inline-block; width: 1.1rem; margin-right: .4rem; vertical-align: middle;
  border-top: 3px solid; } .legend i.now { border-color: var(--now); }
.legend i.before { border-color: var(--before); } .legend i.thin { border-top: 2px dashed; }
.legend i.now.thin { border-color: var(--now); }
.legend i.before.thin { border-color: var(--before); }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; padding: .25rem 0; }
.signatures { color: var(--soft); overflow-wrap: anywhere; }
dl { margin: 0; padding: .7rem 0; border-bottom: 1px solid var(--line); display: grid;
  grid-template-columns: 6.5rem 1fr; gap: .1rem .8rem; } dl.row:last-child { border-bottom: 0; }
dt { color: var(--soft); padding-top: .1rem; } dd { margin: 0; min-width: 0; }
dl > .about { grid-column: 1 / -1; color: var(--soft); font-size: .875rem; }
del, ins { color: var(--ink); text-decoration: none; border-radius: .2rem; padding: .05em 0; }
del { background: var(--del); box-shadow: inset 0 -2px var(--good); }
ins { background: var(--ins); box-shadow: inset 0 -2px var(--bad); }
.sides { grid-column: 1 / -1; display: grid; grid-template-columns: 1fr 1fr; gap: .4rem 1.5rem; }
.sides .label { color: var(--soft); display: block; }
@media (max-width: 40rem) { body { padding: 1rem .9rem 3rem; } h1 { font-size: 1.4rem; }
  .tiles { grid-template-columns: 1fr 1fr; } .tile b { font-size: 1.4rem; }
  .sides { grid-template-columns: 1fr; } .track { min-width: 5rem; }
  dl { grid-template-columns: 5.4rem 1fr; } }
@media print { nav { display: none; } body { max-width: none; } }
"""
