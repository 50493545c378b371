"""How the page looks: light and dark, wide and narrow, on screen and on paper."""

from __future__ import annotations

_LIGHT = (
    "--paper:#fff;--ink:#1c2530;--soft:#5b6672;--rule:#dde2e7;--panel:#f5f7f9;--link:#1a5fa8;"
    "--ok:#1b7a45;--ok-bg:#e6f4ec;--bad:#b3261e;--bad-bg:#fbe3e1;--move:#7a4d00;--move-bg:#fdf0d2;"
    "--m1:#fbe6b4;--m2:#f3c766;--m3:#dd9a24;--m4:#a86a06;--same:#e3e8ec"
)
_DARK = (
    "--paper:#12161b;--ink:#e4eaf0;--soft:#9aa6b2;--rule:#2c343d;--panel:#1a2027;--link:#7db4ee;"
    "--ok:#69c792;--ok-bg:#15301f;--bad:#ff8a80;--bad-bg:#4a1815;--move:#f2c66d;--move-bg:#3a2c0e;"
    "--m1:#4a3a14;--m2:#7d5d14;--m3:#b98416;--m4:#f0b84a;--same:#252d35"
)

STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
html{{scroll-behavior:smooth;-webkit-text-size-adjust:100%}}
body{{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}}
main{{max-width:1180px;margin:0 auto;padding:32px 24px 64px}}
p,li{{max-width:74ch}}
a{{color:var(--link)}}
h1{{font-size:1.9rem;line-height:1.2;margin:0 0 8px;letter-spacing:-.01em}}
h2{{font-size:1.3rem;margin:48px 0 10px;padding-top:12px;border-top:1px solid var(--rule)}}
h3{{font-size:1.05rem;margin:28px 0 8px}}
.soft{{color:var(--soft)}}
.lead{{font-size:1.08rem}}
nav{{display:flex;flex-wrap:wrap;gap:4px 18px;margin:16px 0 0;font-size:.92rem}}
.tiles{{display:grid;grid-template-columns:repeat(auto-fit,minmax(168px,1fr));gap:10px;
 margin:22px 0}}
.tile{{border:1px solid var(--rule);border-radius:10px;padding:12px 14px;background:var(--panel)}}
.tile b{{display:block;font-size:1.45rem;line-height:1.2;font-variant-numeric:tabular-nums}}
.tile.ok b{{color:var(--ok)}} .tile.bad{{background:var(--bad-bg)}} .tile.bad b{{color:var(--bad)}}
.tile span{{font-size:.86rem;color:var(--soft)}}
.note{{border-left:3px solid var(--move);background:var(--move-bg);padding:10px 14px;max-width:80ch;
 overflow-wrap:anywhere}}
dl.readings{{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:14px 0;
 max-width:80ch}}
dl.readings dt{{font-weight:600}} dl.readings dd{{margin:0;color:var(--soft)}}
table{{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}}
th,td{{padding:3px 7px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}}
th{{font-weight:600;color:var(--soft)}}
tbody th,th.left,td.left{{text-align:left}}
tbody th{{color:var(--ink);font-weight:500}}
thead th[colspan]{{text-align:center}}
caption{{text-align:left;font-weight:600;padding:0 0 4px}}
td.ok{{color:var(--ok)}} td.ok::after{{content:"✓";font-size:.8em;margin-left:.3em}}
td.bad{{color:var(--bad);background:var(--bad-bg);font-weight:600}}
td.bad::after{{content:"✗";font-size:.8em;margin-left:.3em}}
td.same{{color:var(--soft)}}
td.move{{color:var(--move);background:var(--move-bg);font-weight:600}}
td.delta{{color:var(--move);font-size:.92em}}
.scroll{{overflow-x:auto;margin:10px 0}}
.key span{{display:inline-block;margin-right:16px;font-size:.88rem}}
.key i{{display:inline-block;width:.95em;height:.95em;border-radius:3px;vertical-align:-.12em;
 margin-right:.4em}}
.matrix{{table-layout:fixed;width:100%;max-width:860px;border-collapse:separate;border-spacing:1px}}
.matrix th,.matrix td{{padding:0;border:0;height:19px}}
.matrix thead th{{text-align:center;font-size:.8rem;font-weight:500}}
.matrix col.name{{width:112px}}
.matrix col.gap{{width:7px}}
.matrix tbody th{{text-align:left;overflow:hidden;text-overflow:ellipsis}}
.matrix td{{border-radius:3px;text-align:center;line-height:19px}}
.s0{{background:var(--same)}} .s1{{background:var(--m1)}} .s2{{background:var(--m2)}}
.s3{{background:var(--m3)}} .s4{{background:var(--m4)}}
.sx{{background:var(--bad-bg);color:var(--bad);font-weight:700;outline:1px solid var(--bad)}}
.trio{{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:18px}}
.trio table{{width:100%;table-layout:fixed;font-size:12.5px}}
.trio th,.trio td{{padding:3px 2px}}
.trio thead th:first-child{{width:20%}} .trio thead th:nth-child(3){{width:24%}}
.trio thead th:last-child{{width:15%}}
h3 .soft{{font-weight:400;font-size:.92em}}
.figures{{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:24px}}
figure{{margin:0}}
figure svg{{width:100%;border:1px solid var(--rule);border-radius:8px}}
figcaption{{font-size:.9rem;color:var(--soft);margin:6px 0 10px}}
.bounds td:nth-child(-n+4),.bounds th.left{{text-align:left}}
.erratum{{break-inside:avoid}}
footer{{margin-top:56px;border-top:1px solid var(--rule);padding-top:12px;font-size:.86rem;
 color:var(--soft)}}
@media (max-width:1060px){{.trio{{grid-template-columns:minmax(0,1fr)}}
 .trio table{{max-width:460px}}}}
@media (max-width:860px){{.figures{{grid-template-columns:minmax(0,1fr)}}}}
@media (max-width:560px){{
 body{{font-size:15px}}
 main{{padding:20px 14px 48px}}
 h1{{font-size:1.55rem}}
 .tiles{{grid-template-columns:1fr 1fr;gap:8px}}
 .trio table{{font-size:11.5px}} .compact{{font-size:12px}}
 dl.readings{{grid-template-columns:1fr}} dl.readings dd{{margin-bottom:6px}}
 .matrix col.name{{width:88px}} .matrix col.gap{{width:4px}}
 .matrix tbody th{{font-size:12px}}
 .tile:last-child:nth-child(odd){{grid-column:1/-1}}
 .compact th,.compact td{{padding:3px 4px}} .compact thead th{{white-space:normal;
 vertical-align:bottom}}
 .erratum .compact{{font-size:11px}} .erratum .compact th,.erratum .compact td{{padding:3px}}
 figure .compact{{font-size:11px}} figure .compact th,figure .compact td{{padding:3px 2px}}
 .bounds thead{{display:none}} .bounds,.bounds tbody{{display:block}}
 .bounds tr{{display:grid;grid-template-columns:minmax(0,1fr) 3.6em;
 border-bottom:1px solid var(--rule);padding:5px 0}}
 .bounds th,.bounds td{{border:0;padding:1px 2px;white-space:normal}}
 .bounds tr th{{grid-column:1/3;font-weight:600}}
 .bounds td:nth-child(2),.bounds td:nth-child(5){{grid-row:2}}
 .bounds td:nth-child(3),.bounds td:nth-child(6){{grid-row:3}}
 .bounds td:nth-child(4),.bounds td:nth-child(7){{grid-row:4}}
 .bounds td:nth-child(n+5){{grid-column:2}}
 .bounds td:nth-child(-n+4)::before{{content:attr(data-reading);display:inline-block;width:6em;
 color:var(--soft);font-weight:400}}
}}
@media print{{
 :root{{color-scheme:light;{_LIGHT}}}
 body{{font-size:10.5pt}} main{{max-width:none;padding:0}} nav{{display:none}}
 a{{color:inherit;text-decoration:none}}
 table,figure,.tile,.note{{break-inside:avoid}} h2,h3{{break-after:avoid}}
 .trio{{grid-template-columns:repeat(3,minmax(0,1fr));gap:10px}} .trio table{{font-size:7pt}}
 .trio th,.trio td{{padding:1px 2px}}
 .scroll{{overflow:visible}}
 *{{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
}}
"""
