// report/page/page.js - draws the document of pcere.report/1 that lies beside it in the page. Nothing is loaded.
"use strict";
(() => {
const report = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);

// ---- words and numbers ----------------------------------------------------------------------------------------------------

const digits = value => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
const scaled = (value, base, units) => {
  let unit = 0;
  while (unit + 1 < units.length && value >= base * 0.9995) { value /= base; unit++; }
  return (unit ? digits(value) : String(Math.round(value))) + " " + units[unit];
};
const timeText = ns => ns === null || ns === undefined ? "–" : scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
// Over the predicted time, marked, where no real run is known.
const accelerationText = point => point.acceleration ? digits(point.acceleration) + "×" + (point.real_ns ? "" : " ~") : "–";
const bytesText = bytes => bytes === null || bytes === undefined ? "–" : scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const ratioText = ratio => ratio === null || ratio === undefined ? "–" : digits(100 * ratio) + " %";
const signedText = ratio => ratio === null || ratio === undefined ? "–" : (ratio < 0 ? "−" : "+") + digits(100 * Math.abs(ratio)) + " %";
const intervalText = one => `${timeText(one.time_ns)} [${timeText(one.low_ns)}, ${timeText(one.high_ns)}]`;
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const sum = (list, value) => list.reduce((total, one) => total + (value(one) || 0), 0);
// Bytes that are not UTF-8 come as {"hex": ...}.
const nameText = value => value && typeof value === "object" ? "0x" + value.hex : value || "";

// ---- elements -------------------------------------------------------------------------------------------------------------

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  made.append(...children.flat().filter(child => child !== null && child !== undefined));
  return made;
}
// A region's name may be broken where its parts meet, not inside a word while there is another way.
const nameParts = name => name.split(/(?<=[@:.,<(_])(?![:._])|(?<=[a-z])(?=[A-Z])/).flatMap((part, i) => i ? [element("wbr"), part] : [part]);

// A C++ name of hundreds of letters says in its middle what its ends need not: template arguments, lists of parameters and outer scopes become "…". The same as the
// command's own tables do with "*".
const NAME_MOST = 60;
function argumentsFolded(name, lists) {
  const opens = lists ? "<(" : "<", closes = lists ? ">)" : ">";
  let depth = 0, folded = "";
  for (let i = 0; i < name.length; i++) {
    const plain = /^(\(anonymous namespace\)|operator(\(\)|<=>|<<=|<<|<=|<|->\*|->|>>=|>>|>=|>)|\(\))/.exec(name.slice(i));
    const part = plain ? plain[0] : name[i];
    if (!plain && opens.includes(part) && depth++ === 0) folded += part + "…";
    else if (!plain && closes.includes(part) && depth && --depth === 0) folded += part;
    else if (!depth) folded += part;
    i += part.length - 1;
  }
  return depth ? name : folded;
}
function shortened(name) {
  let short = name;
  for (const lists of [false, true]) if (short.length > NAME_MOST) short = argumentsFolded(name, lists);
  for (let at; short.length > NAME_MOST && (at = short.indexOf("::", 2)) > 0 && at < short.indexOf("@");) short = "…" + short.slice(at);
  return short.length <= NAME_MOST ? short : short.slice(0, NAME_MOST / 2 - 8) + "…" + short.slice(-(NAME_MOST / 2 + 7));
}
// The short name with a word of the arguments that none of the others has, or the name itself.
function toldApart(name, short, others) {
  const inside = text => text.slice(text.search(/[<(]/)), hole = /[<(]…/.exec(short);
  const word = hole && (inside(name).split("@")[0].match(/[\w$']+/g) || []).find(one => others.every(other => !inside(other).includes(one)));
  return word ? short.replace(hole[0], hole[0] + word + "…") : name;
}
const tile = (value, words) => element("div", {class: "tile"}, element("b", {}, value), element("span", {}, words));
// What a cell's text is worth in an order: a number with its unit ("14.4 ms [...]", "1,024", "12 %", "−3.1×"), else the text itself.
const unitFactors = {ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4};
function cellValue(text) {
  const parts = /^#?([-−]?[\d.,]+)\s*([^\s\d[]*)/.exec(text);
  if (!parts) return text === "–" ? -Infinity : text;
  return parseFloat(parts[1].replace("−", "-").replaceAll(",", "")) * (unitFactors[parts[2]] || 1);
}
const compared = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;

// A table that is longer by more than a few rows shows the first ones, in whatever order (page.css has the number, too); on paper it is whole.
const FOLDED = 12;
function folding(table, rows) {
  if (rows <= FOLDED + 4) return table;
  const more = element("button", {type: "button", class: "fold", "aria-expanded": "false"}, `show all ${rows} rows`);
  table.classList.add("folded");
  more.addEventListener("click", () => {
    const folded = table.classList.toggle("folded");
    more.textContent = folded ? `show all ${rows} rows` : `show the first ${FOLDED} rows`;
    more.setAttribute("aria-expanded", String(!folded));
  });
  return element("div", {}, table, more);
}

// Its headings sort it, unless its rows belong together (a blank first cell goes on with the row above).
function plainTable(headings, rows) {
  const isNumber = i => headings[i][0] === ">";
  const body = element("tbody");
  const words = i => headings[i].replace(/^>/, "");
  const fill = list => body.replaceChildren(...list.map(row => element("tr", {}, row.map((text, i) => element("td",
    {class: isNumber(i) ? "number" : text.length > 30 ? "long" : text.length < 16 ? "short" : null, "data-heading": words(i)}, element("span", {}, text))))));
  const sortable = rows.length > 1 && rows.every(row => row[0] !== "");
  const cells = headings.map((heading, i) => {
    const cell = element("th", {class: isNumber(i) ? "number" : null, scope: "col", "data-heading": sortable ? words(i) : null}, sortable ? element("button", {type: "button"}, words(i)) : words(i));
    if (sortable) cell.firstChild.addEventListener("click", () => {
      const sign = cell.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of cells) other.setAttribute("aria-sort", "none");
      cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      fill([...rows].sort((a, b) => sign * compared(cellValue(String(a[i])), cellValue(String(b[i])))));
    });
    return cell;
  });
  fill(rows);
  return folding(element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "table"}, element("table", {}, element("thead", {}, element("tr", {}, cells)), body)), rows.length);
}

// ---- charts ---------------------------------------------------------------------------------------------------------------

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Series differ in colour, and in marker and dashes for whoever cannot tell the colours: eight of each, so that the ninth has another pair.
const SERIES = 8;
const seriesColour = i => colour("--c" + i % SERIES);
const MARKERS = ["circle", "rect", "triangle", "rectRot", "crossRot", "star", "cross", "rectRounded"];
const seriesMarker = i => MARKERS[(i + Math.floor(i / SERIES)) % SERIES];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2], [2, 6], [12, 3, 2, 3, 2, 3]];
const seriesDash = i => DASHES[i % SERIES];
const faint = (hex, alpha) => hex + Math.round(255 * alpha).toString(16).padStart(2, "0");
const drawings = new Map();                 // holder -> how to draw it: again when the colours change
function chart(label, draw, low) {
  const canvas = element("canvas", {role: "img", "aria-label": label});
  const holder = element("div", {class: low ? "chart low" : "chart"}, canvas);
  drawings.set(holder, {canvas, draw, made: null});
  return holder;
}
function drawAll(root) {
  for (const [holder, drawing] of drawings) {
    if (!document.body.contains(holder)) { drawing.made?.destroy(); drawings.delete(holder); continue; }
    if (root && !root.contains(holder)) continue;
    drawing.made?.destroy();
    holder.style.height = "";
    drawing.made = new Chart(drawing.canvas, drawing.draw());
    // A long legend makes the drawing higher, not the curves lower.
    const legend = drawing.made.legend.height - 40;
    if (legend > 0) { holder.style.height = `${holder.clientHeight + legend}px`; drawing.made.resize(); }
  }
}
const axis = (title, more) => ({title: {display: true, text: title, color: colour("--quiet")}, ticks: {color: colour("--quiet")},
  grid: {color: colour("--line")}, ...more});
const timeAxis = (title, more) => {
  const made = axis(title, more);
  made.ticks = {...made.ticks, callback: value => value === 0 ? "0" : timeText(value), maxTicksLimit: 8};
  return made;
};
// A click in the legend hides a series together with its band and its real times, or shows them.
function toggleSeries(event, item, legend) {
  const made = legend.chart, wanted = !made.isDatasetVisible(item.datasetIndex), group = made.data.datasets[item.datasetIndex].group;
  made.data.datasets.forEach((set, i) => { if (i === item.datasetIndex || (group !== undefined && set.group === group)) made.setDatasetVisibility(i, wanted); });
  made.update();
}
function options(x, y, tip, legend) {
  return {animation: false, responsive: true, maintainAspectRatio: false, interaction: {mode: "nearest", intersect: false}, scales: {x, y},
    plugins: {legend: {display: legend !== false, position: "bottom", onClick: toggleSeries,
                       labels: {color: colour("--ink"), usePointStyle: true, boxHeight: 8, filter: item => !item.text.startsWith("_")}},
              tooltip: {filter: item => !item.dataset.label.startsWith("_"), callbacks: {label: tip, title: () => ""}}}};
}
// Bands of many series lie over each other: fainter then.
const BAND = (report.predictions || []).length > 3 ? 0.08 : 0.2;
// Series number i, a line with its interval as a band: three data sets, of which the legend shows one.
function banded(label, points, i, more) {
  const line = key => points.map(point => ({x: point.x, y: point[key]})), shade = seriesColour(i);
  // A band over a single number of threads has no width.
  const bar = points.length === 1 ? [{label: "_interval", data: [{x: points[0].x, y: points[0].low}, {x: points[0].x, y: points[0].high}], borderColor: faint(shade, 0.6), borderWidth: 2,
    pointStyle: "line", pointRadius: 8, pointBorderWidth: 2, fill: false, group: i, ...more}] : [];
  return [
    ...bar,
    {label: "_low", data: line("low"), borderWidth: 0, pointRadius: 0, fill: false, group: i, ...more},
    {label: "_high", data: line("high"), borderWidth: 0, pointRadius: 0, backgroundColor: faint(shade, BAND), fill: "-1", group: i, ...more},
    {label, data: line("y"), borderColor: shade, backgroundColor: shade, borderWidth: 2, borderDash: seriesDash(i), pointStyle: seriesMarker(i), pointRadius: 4, fill: false, tension: 0,
     group: i, ...more},
  ];
}
const real = (label, points, i, more) => ({label, data: points, showLine: false, borderColor: seriesColour(i), backgroundColor: colour("--paper"),
  borderWidth: 2, pointStyle: seriesMarker(i), pointRadius: 7, group: i, ...more});
const threadAxis = counts => axis("threads", {type: "logarithmic", min: Math.min(...counts) / 1.1, max: Math.max(...counts) * 1.1,
  afterBuildTicks: made => { made.ticks = counts.map(value => ({value})); }, ticks: {color: colour("--quiet"), callback: value => String(value)}});
// Labels of a logarithmic axis that do not run into each other: 1, 2, 5 over little more than a decade, else powers of ten.
const roundTicks = made => {
  const kept = Math.log10(made.max / made.min) > 1.5 ? [1] : [1, 2, 5];
  const round = made.ticks.filter(({value}) => kept.some(one => Math.abs(value / 10 ** Math.floor(Math.log10(value) + 1e-9) - one) < 1e-6));
  if (round.length > 1) made.ticks = round;
};

// ---- the document ---------------------------------------------------------------------------------------------------------

const regions = report.regions || [];
// Those that measured most come first: a search leaves some that are of a few regions.
const replayedOf = one => sum(one.predictions, point => point.time_ns - (point.missing_ns || 0)) / sum(one.predictions, point => point.time_ns);
const predictions = [...(report.predictions || [])].map((one, i) => ({one, i, part: replayedOf(one)})).sort((a, b) => (b.part > 0.5) - (a.part > 0.5) || a.i - b.i).map(({one}) => one);
const captured = regions.filter(region => region.status === "captured");
const codelets = sum(regions, region => region.classes.filter(one => one.captured).length);
const regionTime = sum(regions, region => region.time_ns);
// What tells a prediction from the others: machines where there are several or nothing else, else flags and settings.
const bySetting = new Set(predictions.map(one => one.arch)).size === 1 && predictions.some(one => one.flags || one.settings);
const predictionHeading = bySetting ? "setting" : "machine";
const predictionName = one => [bySetting ? null : one.arch, one.flags, one.settings].filter(Boolean).join(" · ") || (bySetting ? "as captured" : "this machine");
// Regions whose short names are alike have a word each that tells them apart.
const shortNames = new Map();
for (const region of regions) shortNames.set(region.region, shortened(region.region));
const alike = name => [...shortNames.keys()].filter(other => other !== name && shortNames.get(other) === shortNames.get(name));
const toldNames = new Map([...shortNames].map(([name, short]) => [name, alike(name).length ? toldApart(name, short, alike(name)) : short]));
const shortName = name => toldNames.get(name) || name;
const pointsOf = (prediction, region) => prediction.predictions.map(point => ({point,
  of: region ? point.regions.find(one => one.region === region.region) : point})).filter(pair => pair.of);
const threadCounts = [...new Set(predictions.flatMap(one => one.predictions.map(point => point.threads)))].sort((a, b) => a - b);

function errorsOf(region) {
  const errors = [];
  for (const prediction of predictions)
    for (const {of} of pointsOf(prediction, region))
      if (of.real_ns) errors.push(of.time_ns / of.real_ns - 1);
  return errors;
}
const worst = errors => errors.length ? errors.reduce((a, b) => Math.abs(b) > Math.abs(a) ? b : a) : null;

// What nothing was replayed for: scaled, or kept from the captured run.
const GUESSED = 0.1, BUSY = 0.1, UNLIKE = 0.05, UNSEEN = 0.02;
const computedOf = point => ((point.parts_ns || {}).scaled || 0) + ((point.parts_ns || {}).in_vivo || 0) - (point.missing_ns || 0);
const classesOf = point => point.regions.flatMap(one => one.classes.map(other => ({region: one.region, ...other})));
const failedOf = region => predictions.flatMap(one => pointsOf(one, region).filter(({of}) => of.classes.some(other => other.missing)).map(({point}) => point.threads));

// The same as `pcere predict` says in lines of their own.
function doubts(one, point) {
  const found = [], where = `${predictionName(one)}, ${plural(point.threads, "thread")}: `;
  if (point.threads !== report.threads && computedOf(point) > GUESSED * point.time_ns)
    found.push(`${where}guessed to ${ratioText(computedOf(point) / point.time_ns)}, for which no replay counts: take the interval, ${timeText(point.low_ns)} to ${timeText(point.high_ns)}, not the number.`);
  if (point.preempted_ratio >= BUSY && point.threads <= processorsOf(one.arch))
    found.push(`${where}other work had a processor for ${ratioText(point.preempted_ratio)} of the time of its replays: replay again with nothing else running.`);
  if (point.real_ns && point.real_waited_ratio >= BUSY)
    found.push(`${where}real runs waited for a processor, which other work had, for ${ratioText(point.real_waited_ratio)} of their time: their errors are of that as well; measure again with nothing else running.`);
  const unseen = classesOf(point).filter(other => other.unseen), unseen_ns = unseen.reduce((sum, other) => sum + other.time_ns, 0);
  if (unseen_ns > UNSEEN * point.time_ns)
    found.push(`${where}${ratioText(unseen_ns / point.time_ns)} of the time is by shots (most in ${shortName(unseen.reduce((a, b) => b.time_ns > a.time_ns ? b : a).region)}) that were never held against the program's own time: replay with ${plural(report.threads, "thread")}, too, where it was captured, or with --sample off.`);
  const unlike = classesOf(point).filter(other => other.members_ratio && Math.abs(other.members_ratio - 1) >= UNLIKE);
  if (unlike.length)
    found.push(`${where}${plural(unlike.length, "class").replace("classs", "classes")} may not stand for all members (the heaviest: ${shortName(unlike.reduce((a, b) => b.time_ns > a.time_ns ? b : a).region)}); the interval has both.`);
  return found;
}

// ---- top ------------------------------------------------------------------------------------------------------------------

function top() {
  const program = nameText(report.program).split("/").pop() || "(unnamed)";
  document.title = `${program} – PCERE report`;
  $("title").textContent = program;
  const host = report.captured_host && report.captured_host.name;
  $("subtitle").textContent = [host && `captured on ${host}`, `with ${plural(report.threads, "thread")}`, report.compiler && `compiled by ${report.compiler}`]
    .filter(Boolean).join(", ");
  const warnings = [];
  if (!report.complete) warnings.push("The capture was cut short: what is here is whole, later invocations are missing.");
  for (const one of report.missing || []) warnings.push(`No prediction for ${one.arch}: ${one.why}${one.hint ? ` (${one.hint})` : ""}.`);
  for (const one of predictions)
    for (const point of one.predictions)
      if (point.missing)
        warnings.push(`${predictionName(one)}, ${plural(point.threads, "thread")}: ${plural(point.missing, "codelet")} without a replay, `
          + `${ratioText(point.missing_ns / point.time_ns)} of the time: it is computed from the captured run.`);
  for (const one of predictions)
    for (const point of one.predictions) warnings.push(...doubts(one, point));
  for (const one of report.not_entered || [])
    if (predictions.some(({predictions: points}) => points.some(point => point.threads >= one.from_threads && !point.strange_ns)))
      warnings.push(`${nameText(one.region)} is ${one.reason}: what the capture's ${plural(report.threads, "thread")} did in place of it counts with any number here.`);
  if (!predictions.length && !(report.missing || []).length)
    warnings.push(codelets ? "Nothing was replayed yet: 'pcere replay --threads 1,2,4' gives predictions."
      : regions.length ? "No region was captured, so that nothing can be replayed: the table of regions says why."
      : "The program entered no parallel region while it was captured: there is nothing to replay or to predict.");
  $("warnings").hidden = !warnings.length;
  $("warnings").append(...warnings.flatMap(text => [text, element("br")]));
  const wholeCaptured = sum(captured, region => region.time_ns);
  const tiles = [
    tile(timeText(report.wall_ns), "whole run, as captured"),
    tile(report.wall_ns ? ratioText(regionTime / report.wall_ns) : "–", "of it in parallel regions"),
    tile(regionTime ? ratioText(wholeCaptured / regionTime) : "–", "of that in captured regions"),
    tile(`${captured.length} of ${regions.length}`, "regions captured"),
    tile(String(codelets), "codelets, one for each class"),
    tile(bytesText(report.stored_bytes), "store"),
  ];
  const errors = predictions.flatMap(one => one.predictions).map(point => point.error_ratio).filter(value => value !== null && value !== undefined);
  if (errors.length) tiles.push(tile(ratioText(sum(errors, value => value) / errors.length), `mean error over ${plural(errors.length, "thread count")}`));
  const first = predictions[0];
  if (first && first.predictions.length > 1) {
    const base = first.predictions.reduce((a, b) => b.threads < a.threads ? b : a), best = first.predictions.reduce((a, b) => b.time_ns < a.time_ns ? b : a);
    tiles.push(best === base ? tile("none", `predicted gain from more than ${plural(base.threads, "thread")}`)
      : tile(digits(base.time_ns / best.time_ns) + "×", `predicted with ${plural(best.threads, "thread")} against ${base.threads}`));
  }
  $("glance").append(...tiles);
}

// ---- speed-up -------------------------------------------------------------------------------------------------------------

function curves(region, asSpeedup) {
  const sets = [];
  predictions.forEach((prediction, i) => {
    const pairs = pointsOf(prediction, region);
    if (!pairs.length) return;
    const base = pairs.reduce((a, b) => b.point.threads < a.point.threads ? b : a);
    const of = ns => asSpeedup ? base.of.time_ns / ns : ns;
    const realBase = base.of.real_ns || base.of.time_ns;
    const more = {hidden: i >= SERIES};
    sets.push(...banded(`predicted, ${predictionName(prediction)}`, pairs.map(pair => ({x: pair.point.threads, y: of(pair.of.time_ns),
      low: of(asSpeedup ? pair.of.high_ns : pair.of.low_ns), high: of(asSpeedup ? pair.of.low_ns : pair.of.high_ns)})), i, more));
    const seen = pairs.filter(pair => pair.of.real_ns);
    if (seen.length)
      sets.push(real(`real, ${predictionName(prediction)}`, seen.map(pair => ({x: pair.point.threads, y: asSpeedup ? realBase / pair.of.real_ns : pair.of.real_ns})), i, more));
  });
  if (asSpeedup && threadCounts.length > 1)
    sets.push({label: "ideal", data: threadCounts.map(x => ({x, y: Math.min(x, processorsMost) / Math.min(threadCounts[0], processorsMost)})), borderColor: colour("--quiet"), borderDash: [4, 4], borderWidth: 1,
      pointStyle: "line", pointRadius: 0, fill: false});
  const tip = item => `${item.dataset.label}: ${asSpeedup ? digits(item.parsed.y) + "×" : timeText(item.parsed.y)} at ${plural(item.parsed.x, "thread")}`;
  const y = asSpeedup ? axis("speed-up", {beginAtZero: true}) : timeAxis("time", {beginAtZero: true});
  return {type: "line", data: {datasets: sets}, options: options(threadAxis(threadCounts), y, tip)};
}

// More threads than processors take turns.
const processorsOf = name => ((report.replay_hosts || []).find(host => host.name === name) || {}).threads || Infinity;
const processorsMost = Math.max(...predictions.map(one => processorsOf(one.arch)));
const threadsText = (prediction, point) => String(point.threads) + (point.threads > processorsOf(prediction.arch) ? " *" : "");

// On what a predicted time rests, the largest part first.
function basisText(point, prediction) {
  const names = {in_vivo: "as captured", outside_regions: "outside regions", team_start: "start of the team"};
  const parts = Object.entries(point.parts_ns || {}).filter(([, ns]) => ns >= 0.005 * point.time_ns).sort((a, b) => b[1] - a[1]);
  const text = parts.map(([name, ns]) => `${ratioText(ns / point.time_ns)} ${names[name] || name}`).join(", ") || prediction.basis;
  return point.missing ? `${text}; missing: ${ratioText(point.missing_ns / point.time_ns)}` : text;
}

function speedup() {
  const body = $("speedup-body");
  if (!predictions.length) {
    body.append(element("p", {class: "quiet"}, "There is no prediction yet."));
    return;
  }
  const single = threadCounts.length === 1;
  body.append(element("div", {class: "pair"},
    single ? null : element("div", {}, chart("predicted and real speed-up over threads", () => curves(null, true))),
    element("div", {}, chart("predicted and real time over threads", () => curves(null, false), single))));
  if (single)
    body.append(element("p", {class: "quiet"}, `Only ${plural(threadCounts[0], "thread")} was replayed, which tells of no speed-up: replay with others, too.`.replace("threads was", "threads were")));
  if (predictions.length > SERIES)
    body.append(element("p", {class: "quiet"}, `Drawn are ${SERIES} of ${predictions.length} predictions; a click in the legend shows or hides one.`));
  const rows = predictions.flatMap(prediction => prediction.predictions.map(point => [predictionName(prediction), threadsText(prediction, point), intervalText(point),
    timeText(point.real_ns), ratioText(point.error_ratio), accelerationText(point), basisText(point, prediction)]));
  body.append(plainTable([predictionHeading, ">threads", ">predicted [95 %]", ">real", ">error", ">acceleration", "basis"], rows));
  if (rows.some(row => row[1].endsWith("*"))) body.append(element("p", {class: "quiet"}, "* more threads than the machine has processors"));
  const first = predictions[0];
  body.append(element("p", {class: "quiet"}, `Outside regions ${timeText(first.serial_ns)} at any number of threads (basis: ${first.serial_basis.replace("_", " ")}).`));
  const forks = first.predictions.filter(point => point.fork_ns);
  if (forks.length)
    body.append(element("p", {class: "quiet"}, `Fork and join take ${forks.map(point => `${timeText(point.fork_ns)} with ${plural(point.threads, "thread")}`).join(", ")}: each invocation that was not replayed has them.`));
  const others = first.predictions.filter(point => point.serial_change_ratio);
  if (others.length)
    body.append(element("p", {class: "quiet"}, "Real runs spent another time there: " + others.map(point => `${timeText(point.real_serial_ns)} with ${plural(point.threads, "thread")}`).join(", ") + "."));
}

// ---- regions --------------------------------------------------------------------------------------------------------------

const columns = [
  {heading: "region", value: region => region.region, cell: region => element("td", {class: "name", title: region.region}, element("span", {}, nameParts(shortName(region.region))))},
  {heading: "in vivo", number: true, value: region => region.time_ns, cell: region => element("td", {class: "number"}, timeText(region.time_ns))},
  {heading: "share", number: true, value: region => region.share_ratio || 0,
   cell: region => element("td", {class: "number share", style: `--part: ${Math.min(100, 100 * (region.share_ratio || 0)).toFixed(1)}%`}, ratioText(region.share_ratio))},
  {heading: "invocations", number: true, value: region => region.invocations, cell: region => element("td", {class: "number"}, region.invocations.toLocaleString("en"))},
  {heading: "classes", number: true, value: region => region.classes.length,
   cell: region => element("td", {class: "number"}, `${region.classes.filter(one => one.captured).length} of ${region.classes.length}`)},
  {heading: "worst error", number: true, value: region => { const error = worst(errorsOf(region)); return error === null ? -1 : Math.abs(error); },
   cell: region => element("td", {class: "number"}, signedText(worst(errorsOf(region))))},
  {heading: "memory", number: true, value: region => Math.max(0, ...region.classes.map(one => one.memory_bytes || 0)),
   cell: region => { const most = Math.max(0, ...region.classes.map(one => one.memory_bytes || 0)); return element("td", {class: "number"}, most ? bytesText(most) : "–"); }},
  {heading: "status", value: region => region.status + (region.reason || ""),
   cell: region => element("td", {class: "why"}, element("span", {class: "mark " + region.status}, region.status),
     failedOf(region).length ? [" ", element("span", {class: "mark invalid"}, `no replay with ${[...new Set(failedOf(region))].join(", ")} ${failedOf(region).join() === "1" ? "thread" : "threads"}`)] : null,
     region.reason ? " " + region.reason : "", region.reason && (region.thread_sized || region.io) ? ";" : "", region.thread_sized ? ` ${holdsText(region)}: ${region.thread_sized}` : "", region.thread_sized && region.io ? ";" : "", region.io ? ` ${region.io}` : "")},
];

// "at most 2 threads": how many a region holds for that has something of the capture's number.
function holdsText(region) {
  const turns = Number((/^another way from (\d+) /.exec(region.thread_sized) || [])[1] || 0);
  if (turns)
    return report.threads < turns ? `at most ${plural(turns - 1, "thread")}` : `at least ${plural(turns, "thread")}`;
  return `${/^a (barrier for|division of the work by) /.test(region.thread_sized) ? "exactly" : "at most"} ${plural(report.threads, "thread")}`;
}

function invocationsChart(region, series) {
  // The classes that take longest have a colour each, however many there are.
  const classes = [...region.classes].sort((a, b) => b.time_ns - a.time_ns).map(one => one.representative);
  const drawn = classes.length > SERIES ? classes.slice(0, SERIES - 1) : classes;
  const radius = series.time_ns.length > 600 ? 1.5 : 3;
  const points = wanted => series.time_ns.flatMap((time, j) => wanted(series.representative[j]) ? [{x: series.number[j], y: time}] : []);
  const cloud = (label, i, data, shade) => ({label, data, backgroundColor: faint(shade, 0.75), borderColor: shade, pointStyle: seriesMarker(i), pointRadius: radius,
    borderWidth: ["crossRot", "cross", "star"].includes(seriesMarker(i)) ? 1 : 0, showLine: false});
  const sets = drawn.map((representative, i) => cloud(`class of #${representative}`, i, points(one => one === representative), seriesColour(i))).filter(set => set.data.length);
  if (drawn.length < classes.length)
    sets.push(cloud(`${classes.length - drawn.length} lighter classes`, SERIES - 1, points(one => classes.includes(one) && !drawn.includes(one)), seriesColour(SERIES - 1)));
  const loose = points(one => !classes.includes(one));
  if (loose.length) sets.push({label: "of no class", data: loose, backgroundColor: faint(colour("--quiet"), 0.6), pointRadius: 1.5, borderWidth: 0, showLine: false});
  const times = series.time_ns.filter(time => time > 0);
  const wide = times.length && Math.max(...times) > 20 * Math.min(...times);
  const tip = item => `#${item.parsed.x}: ${timeText(item.parsed.y)}, ${item.dataset.label}`;
  return {type: "scatter", data: {datasets: sets}, options: options(axis("invocation", {type: "linear", ticks: {precision: 0, color: colour("--quiet")}}),
    timeAxis("in vivo", wide ? {type: "logarithmic", afterBuildTicks: roundTicks} : {beginAtZero: true}), tip)};
}

function detail(region) {
  const parts = shortName(region.region) === region.region ? [] : [element("p", {class: "quiet full"}, nameParts(region.region))];
  const before = parts.length;
  const series = (report.invocations || []).find(one => one.region === region.region);
  const charts = [];
  if (predictions.some(one => pointsOf(one, region).length))
    charts.push(element("div", {}, element("h3", {}, "Time over threads"), chart(`${shortName(region.region)}: time over threads`, () => curves(region, false), true)));
  if (series && series.time_ns.length)
    charts.push(element("div", {}, element("h3", {}, "Invocations by class"), chart(`${shortName(region.region)}: invocations over time`, () => invocationsChart(region, series), true),
      series.time_ns.length < series.invocations ? element("p", {class: "quiet"}, `${series.time_ns.length} of ${series.invocations} invocations are drawn.`) : null));
  if (charts.length) parts.push(element("div", {class: "pair"}, charts));
  for (const one of predictions)
    for (const {point, of} of pointsOf(one, region))
      if (point.threads !== report.threads && of.basis !== "nested" && of.time_ns && of.in_vivo_ns > GUESSED * of.time_ns)
        parts.push(element("p", {class: "quiet"}, `${predictionName(one)}, ${plural(point.threads, "thread")}: ${ratioText(of.in_vivo_ns / of.time_ns)} of this time was not replayed, but scaled as what was; take the interval, ${timeText(of.low_ns)} to ${timeText(of.high_ns)}.`));
  if (region.classes.length) {
    const rows = region.classes.map(one => [`#${one.representative}`, one.members.toLocaleString("en"), timeText(one.time_ns), timeText(one.time_ns_median),
      timeText(one.representative_ns), bytesText(one.memory_bytes), bytesText(one.stored_bytes), one.captured ? "captured" : one.reason || "weighs too little"]);
    parts.push(plainTable(["representative", ">members", ">time of all", ">median", ">its own", ">memory", ">stored", "status"], rows));
  }
  const replayed = predictions.flatMap(prediction => pointsOf(prediction, region).flatMap(({point, of}) => of.classes.filter(one => one.vitro_ns).map(one =>
    [predictionName(prediction), String(point.threads), `#${one.representative}`, timeText(one.vitro_ns), digits(one.weight), `${one.repetitions} in ${plural(one.processes, "process").replace("processs", "processes")}`])));
  if (replayed.length) parts.push(element("p", {}), plainTable([predictionHeading, ">threads", "representative", ">in vitro", ">weight", "repetitions"], replayed));
  if (parts.length === before) parts.push(element("p", {class: "quiet"}, "Nothing more is known of it."));
  return parts;
}

const REGIONS_LEAST = 12;      // so many are listed, however little each weighs

function regionTable() {
  const body = $("regions-body");
  if (!regions.length) {
    body.append(element("p", {class: "quiet"}, "The store holds no region."));
    return;
  }
  const rows = element("tbody");
  const filter = element("input", {type: "search", placeholder: "filter by name", "aria-label": "filter regions by name"});
  const small = element("input", {type: "checkbox"});
  const shown = element("span", {class: "quiet", role: "status"}), printed = element("p", {class: "quiet paper"});
  let sorted = {column: columns[1], descending: true};
  const open = new Set();
  const byTime = [...regions].sort((a, b) => b.time_ns - a.time_ns), heavy = new Set(byTime.slice(0, REGIONS_LEAST));
  const headings = columns.map(column => {
    const button = element("button", {type: "button"}, column.heading);
    const heading = element("th", {class: column.number ? "number" : null, scope: "col", "data-heading": column.heading}, button);
    button.addEventListener("click", () => {
      sorted = {column, descending: sorted.column === column ? !sorted.descending : Boolean(column.number)};
      fill();
    });
    return {column, heading};
  });
  function toggle(region) {
    open.has(region) ? open.delete(region) : open.add(region);
    fill();
  }
  function fill() {
    for (const {column, heading} of headings)
      heading.setAttribute("aria-sort", column === sorted.column ? sorted.descending ? "descending" : "ascending" : "none");
    const text = filter.value.toLowerCase();
    const list = regions.filter(region => region.region.toLowerCase().includes(text) && (small.checked || (region.share_ratio || 0) >= 0.005 || heavy.has(region) || text));
    list.sort((a, b) => {
      const x = sorted.column.value(a), y = sorted.column.value(b), order = x < y ? -1 : x > y ? 1 : 0;
      return sorted.descending ? -order : order;
    });
    rows.replaceChildren(...list.flatMap(region => {
      const row = element("tr", {class: "region", tabindex: 0, "aria-expanded": open.has(region)}, columns.map(column => { const cell = column.cell(region); cell.setAttribute("data-heading", column.heading); return cell; }));
      row.addEventListener("click", () => toggle(region));
      row.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(region); } });
      row.setAttribute("aria-expanded", String(open.has(region)));
      return open.has(region) ? [row, element("tr", {class: "detail"}, element("td", {colspan: columns.length}, element("div", {class: "inside"}, detail(region))))] : [row];
    }));
    printed.textContent = shown.textContent = list.length < regions.length ? `${list.length} of ${regions.length} shown` : "";
    drawAll(rows);
  }
  filter.addEventListener("input", fill);
  small.addEventListener("change", fill);
  body.append(element("div", {class: "tools"}, filter, regions.length > REGIONS_LEAST ? element("label", {}, small, " regions under 0.5 %, too") : null, shown),
    element("div", {class: "scroll"}, element("table", {id: "region-table"}, element("thead", {}, element("tr", {}, headings.map(one => one.heading))), rows)),
    printed,
    element("p", {class: "quiet screen"}, "Select a region for its classes, its invocations and its time over threads."));
  if (byTime[0].classes.length) open.add(byTime[0]);
  fill();
}

// ---- the rest -------------------------------------------------------------------------------------------------------------

const facts = pairs => element("dl", {class: "facts"}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));

function cost() {
  const memory = sum(regions, region => sum(region.classes, one => one.captured ? one.memory_bytes : 0));
  $("cost-body").append(facts([
    ["timing run", timeText(report.wall_ns)],
    ["capturing run", report.capture_wall_ns ? `${timeText(report.capture_wall_ns)}, ${digits(report.capture_wall_ns / report.wall_ns)} times the timing run` : "–"],
    ["memory in codelets", bytesText(memory)],
    ["store", `${bytesText(report.stored_bytes)}${report.stored_bytes && memory ? `, ${ratioText(report.stored_bytes / memory)} of that memory` : ""}`],
    ["build id", report.build_id],
    ["command", [nameText(report.program), ...(report.arguments || []).map(nameText)].join(" ")],
    ["settings", (report.environment || []).map(nameText).join("  ")],
  ]));
  const rows = predictions.flatMap(prediction => prediction.predictions.filter(point => point.cost_ns).map(point =>
    [predictionName(prediction), String(point.threads), timeText(point.cost_ns), accelerationText(point)]));
  if (rows.length) $("cost-body").append(plainTable([predictionHeading, ">threads", ">all replays", ">acceleration"], rows));
}

const quantityText = (one, unit) => one ? `${Number((one.value / unit).toPrecision(3))}` + (one.low === null ? "" : ` [${Number((one.low / unit).toPrecision(3))}, ${Number((one.high / unit).toPrecision(3))}]`) : "–";
const levelName = level => level.level ? `L${level.level}` : "memory";

// Read bandwidth of each level over threads.
function bandwidths(platform) {
  const counts = [...new Set(platform.levels.flatMap(level => level.bandwidths.map(one => one.threads)))].sort((a, b) => a - b);
  const sets = platform.levels.flatMap((level, i) => {
    const points = level.bandwidths.filter(one => one.read_bytes_per_s).map(one => ({x: one.threads, y: one.read_bytes_per_s.value / 1e9,
      low: (one.read_bytes_per_s.low ?? one.read_bytes_per_s.value) / 1e9, high: (one.read_bytes_per_s.high ?? one.read_bytes_per_s.value) / 1e9}));
    return points.length ? banded(levelName(level), points, i) : [];
  });
  const tip = item => `${item.dataset.label}: ${digits(item.parsed.y)} GB/s with ${plural(item.parsed.x, "thread")}`;
  return {type: "line", data: {datasets: sets}, options: options(threadAxis(counts), axis("read, GB/s", {type: "logarithmic", afterBuildTicks: roundTicks}), tip)};
}

// What a processor pays for data that another has just written, over their size: measured, and by the lines after Hockney.
function transfers(platform) {
  const sets = platform.pairs.flatMap((pair, i) => [["read", pair.read], ["write", pair.write]].flatMap(([kind, transfer], k) => {
    const number = 2 * i + k, shade = seriesColour(number), name = `${kind}, sharing ${pair.relation} (${pair.cpus.join(", ")})`;
    const line = transfer.pieces.flatMap(one => [one.from_bytes, one.to_bytes].map(x => ({x, y: one.alpha_ns + one.beta_ns_per_byte * x}))).filter(point => point.y > 0);
    return [{label: name, data: transfer.points.map(one => ({x: one.bytes, y: one.time_ns.value})), showLine: false, borderColor: shade, backgroundColor: shade, pointStyle: seriesMarker(number), pointRadius: 3, group: number},
            {label: "_" + name, data: line, borderColor: shade, borderDash: seriesDash(number), borderWidth: 1.5, pointRadius: 0, group: number}];
  }));
  const tip = item => `${item.dataset.label}: ${timeText(item.parsed.y)} for ${bytesText(item.parsed.x)}`;
  const x = axis("size", {type: "logarithmic", ticks: {color: colour("--quiet"), callback: value => bytesText(value), maxRotation: 0},
    afterBuildTicks: made => { made.ticks = [64, 1024, 16384, 262144, 4194304, 67108864].map(value => ({value})); }});
  return {type: "line", data: {datasets: sets}, options: options(x, timeAxis("time", {type: "logarithmic", afterBuildTicks: roundTicks}), tip)};
}

function signature(platform) {
  const rows = platform.levels.flatMap(level => (level.bandwidths.length ? level.bandwidths : [{}]).map((one, i) => [i ? "" : levelName(level), i ? "" : bytesText(level.bytes),
    i && !one.latency_ns ? "" : quantityText(i ? one.latency_ns : level.latency_ns, 1), one.threads ? String(one.threads) : "–", quantityText(one.read_bytes_per_s, 1e9), quantityText(one.write_bytes_per_s, 1e9),
    quantityText(one.triad_bytes_per_s, 1e9)]));
  const constructs = [...new Set(platform.overheads.map(one => one.construct))], counts = [...new Set(platform.overheads.map(one => one.threads))];
  const overheads = constructs.map(name => [name, ...counts.map(threads => quantityText((platform.overheads.find(one => one.construct === name && one.threads === threads) || {}).time_ns, 1))]);
  return element("div", {}, element("h3", {}, `Signature of ${platform.name}`), element("p", {class: "quiet"}, platform.sources.join("; ")),
    element("div", {class: "pair"}, element("div", {}, chart("bandwidth of each level over threads", () => bandwidths(platform), true)),
      platform.pairs.length ? element("div", {}, chart("time of transfers between processors over their size", () => transfers(platform), true)) : null),
    plainTable(["level", ">size", ">latency, ns", ">threads", ">read, GB/s", ">write, GB/s", ">triad, GB/s"], rows), element("p", {}),
    plainTable(["arithmetic", ">bits", ">Gflop/s of a core"], platform.arithmetic.map(one => [one.kind, String(one.bits), quantityText(one.flops_per_s, 1e9)])), element("p", {}),
    overheads.length ? plainTable(["overhead of", ...counts.map(threads => `>ns, ${plural(threads, "thread")}`)], overheads) : null);
}

function machines() {
  const describe = (words, host) => host && element("div", {}, element("h3", {}, `${words}: ${host.name || "without a name"}`), facts([
    ["processor", host.cpu], ["architecture", host.architecture], ["cores", host.cores], ["hardware threads", host.threads],
    ["memory", bytesText(host.memory_bytes)], ["kernel", host.kernel],
    ["caches", (host.caches || []).map(cache => `L${cache.level} ${cache.type} ${bytesText(cache.bytes)}`).join(", ")]]));
  const list = [describe("captured on", report.captured_host)];
  for (const host of report.replay_hosts || [])
    if (!report.captured_host || host.name !== report.captured_host.name) list.push(describe("replayed on", host));
  $("host-body").append(element("div", {class: "pair"}, list.filter(Boolean)), ...(report.platforms || []).map(signature));
}

top();
speedup();
regionTable();
cost();
machines();
$("footer").textContent = `Written by pcere ${report.version}. This file needs nothing else; it holds no memory of the program.`;
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
// Paper is white, whatever the screen is.
addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); drawAll(); });
addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); drawAll(); });
})();
