"""Style: how the page looks, light or dark as its reader's screen is, on paper, and on a phone."""

from ..draw.colours import DARK, LIGHT, variables

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--card:#f7f8fa;--ink:#1b2430;--soft:#566172;--rule:#dfe3ea;
--accent:#1f5fa8;--good:#0b6b4f;--bad:#b3261e;--warn:#8a5300;--line-a:#2b8a85;--line-b:#a0539b;--copy:#9ccfc0;
--wait:#dde2e9;--failed:#f0aaa4;@LIGHT@}
@media (prefers-color-scheme:dark){:root{--paper:#14181f;--card:#1b212a;--ink:#e8ecf2;--soft:#a6b0bf;--rule:#303947;
--accent:#8dbdf2;--good:#6fd3ae;--bad:#ff9a90;--warn:#f0bd72;--line-a:#4fbdb6;--line-b:#cf8bca;
--copy:#2c6155;--wait:#333c49;--failed:#8f332c;@DARK@}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans","Noto Sans CJK SC",
"PingFang SC","Microsoft YaHei",sans-serif}
main,header,footer{max-width:1080px;margin:0 auto;padding:0 20px}
header{padding-top:36px}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;overflow-wrap:anywhere}
h2{font-size:21px;line-height:1.3;margin:0 0 4px}
h3{font-size:16px;margin:22px 0 6px}
section{padding:30px 0 6px;border-top:1px solid var(--rule);margin-top:30px}
p{margin:0 0 12px;max-width:70ch}
.lead{color:var(--soft)}
a{color:var(--accent)}
nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin:18px 0 0;font-size:15px}
code,td.code,p.code{font:13px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:20px 0 0}
.facts div{background:var(--card);border-radius:8px;padding:10px 14px}
.facts dt{font-size:13px;color:var(--soft)}
.facts dd{margin:0;font-size:19px;font-weight:600;font-variant-numeric:tabular-nums}
.facts small{display:block;font-weight:400;font-size:13px;color:var(--soft)}
.wide{overflow-x:auto;margin:10px 0 16px;background-repeat:no-repeat;
background-image:linear-gradient(90deg,var(--paper) 40%,transparent),
linear-gradient(270deg,var(--paper) 40%,transparent),
linear-gradient(90deg,var(--rule),transparent),linear-gradient(270deg,var(--rule),transparent);
background-position:0 0,100% 0,0 0,100% 0;background-size:30px 100%,30px 100%,10px 100%,10px 100%;
background-attachment:local,local,scroll,scroll}
figure .paper{fill:none}
.wide:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;font-size:14px;line-height:1.45;min-width:100%}
.caption{font-size:14px;color:var(--soft);margin:14px 0 0;max-width:none}
th,td{text-align:left;vertical-align:top;padding:5px 18px 5px 0;white-space:nowrap}
th:last-child,td:last-child{padding-right:0}
thead th{font-weight:500;color:var(--soft);border-bottom:1px solid var(--rule)}
tbody td{border-bottom:1px solid var(--rule)}
tbody tr:last-child td{border-bottom:0}
.part th{font-weight:600;padding-top:14px;border-bottom:1px solid var(--rule)}
.number{text-align:right;font-variant-numeric:tabular-nums}
.long{white-space:normal;min-width:17ch;max-width:60ch}
.soft{color:var(--soft)}
.bar{display:inline-block;width:120px;height:9px;border-radius:3px;background:var(--rule);vertical-align:middle;
margin-right:10px}
.bar span{display:block;height:100%;border-radius:3px}
.tag{display:inline-block;padding:0 8px;border-radius:9px;font-size:12.5px;line-height:19px;
border:1px solid currentColor}
.refused,.fails,.unstable{color:var(--bad)}
.advice,.interrupted{color:var(--warn)}
.stable,.ok{color:var(--good)}
.finding{border-left:3px solid var(--rule);padding:2px 0 2px 14px;margin:0 0 16px;overflow-wrap:anywhere}
.finding p{margin:2px 0;max-width:80ch}
.finding.is-refused,.finding.is-fails{border-color:var(--bad)}
.finding.is-advice{border-color:var(--warn)}
pre{margin:0;padding:12px 14px;background:var(--card);border-radius:8px;overflow-x:auto;font:13px/1.5 ui-monospace,
"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:18px}
.plots .plot{width:100%;height:auto}
.plot text{font-size:12px;fill:var(--soft)}
.plot .axis{fill:var(--ink)}
.plot .grid{stroke:var(--rule);stroke-width:1}
.plot .curve{fill:none;stroke-width:2}
.plot .a{stroke:var(--line-a);fill:var(--line-a)}.plot .b{stroke:var(--line-b);fill:var(--line-b)}
.plot .curve.a,.plot .curve.b{fill:none}
.plot .hollow{fill:var(--paper);stroke-width:2}
div.host,span.host{background:var(--host-edge)}div.device,span.device{background:var(--device-edge)}
div.copy,span.copy{background:var(--copy)}div.wait,span.wait{background:var(--wait)}
div.failed,span.failed{background:var(--failed)}
div.request,span.request{background:var(--card);box-shadow:inset 0 0 0 1px var(--rule)}
.timeline{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:8px 12px;font-size:12px;line-height:20px;
margin:10px 0 16px}
.lane,.axis{color:var(--soft)}
.track,.axis{position:relative}
.tick{position:absolute;top:-4px;bottom:-4px;border-left:1px solid var(--rule)}
.axis{height:20px}
.axis span{position:absolute;white-space:nowrap}
.slice{position:absolute;height:20px;min-width:1px;border-radius:2px;overflow:hidden;display:flex;flex-wrap:wrap;
font-size:11px}
.apart{border-right:1px solid var(--paper)}
.slice i{width:0;height:20px}
.slice b{font-weight:400;padding:0 4px;white-space:nowrap}
figure{margin:0}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:14px;color:var(--soft);max-width:none}
.swatch{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}
.whole{white-space:nowrap}
figure svg{display:block;margin:0 auto}
header p{max-width:none;overflow-wrap:anywhere}
footer{color:var(--soft);font-size:14px;padding-top:26px;padding-bottom:40px}
@media (max-width:560px){main,header,footer{padding-left:14px;padding-right:14px}h1{font-size:25px}
.facts{grid-template-columns:repeat(2,1fr)}.facts dd{font-size:17px}.spare{display:none}
table{font-size:13px}td.code{font-size:11.5px}th,td{padding-right:10px}.bar{width:60px;margin-right:6px}
.timeline{grid-template-columns:minmax(0,1fr);gap:2px}.track{margin-bottom:8px}.lane:empty{display:none}}
@media print{section{break-inside:avoid}.wide{overflow:visible}}
""".replace("@LIGHT@", variables(LIGHT)).replace("@DARK@", variables(DARK))
