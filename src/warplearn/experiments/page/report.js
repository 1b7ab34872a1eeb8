"use strict";
const get = id => document.getElementById(id);
const views = JSON.parse(get("data").textContent);

// Tables.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.cells[column].dataset.value;
    const text = row => row.cells[column].textContent;
    const sign = down ? -1 : 1;
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x !== undefined && y !== undefined) return sign * (Number(x) - Number(y));
      if (x !== undefined || y !== undefined) return x !== undefined ? -1 : 1;  // values come first
      if (!text(a) || !text(b)) return !text(a) - !text(b);  // then texts, then nothing
      return sign * text(a).localeCompare(text(b));
    };
    const body = table.tBodies[0];
    const rows = [...body.rows].sort(order);
    body.append(...rows);
  }));
}

// Tables that are wider than the page say so until they are scrolled.
const regions = [...document.querySelectorAll(".scroll")];
const hint = region => {
  region.previousElementSibling.hidden =
    region.scrollLeft > 8 || region.scrollWidth <= region.clientWidth + 2;
};
regions.forEach(region => region.addEventListener("scroll", () => hint(region)));
const hints = () => regions.forEach(hint);
addEventListener("resize", hints);
document.querySelectorAll("details").forEach(each => each.addEventListener("toggle", hints));
hints();

// Light and dark.
const darkNow = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
get("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = darkNow() ? "light" : "dark";
  if (views.length) draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => views.length && draw());

// The model.
const state = { view: 0, unit: 0, channel: 0, series: 0, mistakes: false, hover: null, drawn: null };
const LEFT = 44, RIGHT = 10, TOP = 8, BOTTOM = 24;  // around the plots
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const wrong = s => s.label !== s.predicted;
const shown = () => state.drawn || views[state.view].series[state.series];  // what was drawn, or chosen

function bytes(text) {
  return Int8Array.from(atob(text), c => c.charCodeAt(0));
}

function options(select, names, chosen) {
  select.replaceChildren(...names.map(([value, text]) => new Option(text, value, false, value === chosen)));
  select.value = chosen;
}

function eligible() {
  const all = views[state.view].series.map((s, i) => i);
  const some = state.mistakes ? all.filter(i => wrong(views[state.view].series[i])) : all;
  return some.length ? some : all;
}

function refresh() {
  const view = views[state.view];
  const few = view.series.some(wrong);
  get("mistakes").disabled = !few;
  if (!few) state.mistakes = get("mistakes").checked = false;
  if (!eligible().includes(state.series)) state.series = eligible()[0];
  options(get("dataset"), views.map((v, i) => [i, v.name]).map(([i, n]) => [String(i), n]), String(state.view));
  options(get("unit"), view.units.map((u, i) => [String(i), u.label]), String(state.unit));
  options(get("channel"), view.channels.map((c, i) => [String(i), c]), String(state.channel));
  options(get("series"), eligible().map(i => {
    const s = view.series[i];
    return [String(i), `${s.case}: class ${s.label}${wrong(s) ? ", mistaken" : ""}`];
  }), String(state.series));
  get("unit-label").hidden = view.units.length < 2;
  get("channel-label").hidden = view.channels.length < 2;
  const s = shown();
  get("verdict").textContent = state.drawn ? `The drawn series: class ${s.predicted}.` : `Series ${s.case} is of class ${s.label}, predicted ${s.predicted}: ${wrong(s) ? "wrong" : "right"}.`;
  const kind = view.heldOut ? "test" : "training";
  get("model-note").textContent = `${view.model} with ${view.units[0].m} columns for ${view.units[0].n} time steps` +
    (view.units.length > 1 ? ` and ${view.units.length} matrices` : "") +
    `. ${counted(view.mistakes, "mistake")} on ${view.cases} ${kind} series; ${view.series.length} of these series can be chosen here.`;
  const scale = view.units[state.unit].scale;
  get("low").textContent = (-scale).toPrecision(2);
  get("high").textContent = scale.toPrecision(2);
  decide(view, s);
  offerDrawing(view);
  state.hover = null;
  draw();
}

function decide(view, s) {
  const greatest = Math.max(...s.decisions.map(Math.abs), 1e-12);
  const rows = s.decisions.map((value, output) => {
    const row = document.createElement("div");
    const name = document.createElement("span");
    const other = view.classes[0];
    name.textContent = view.outputs.length > 1 ? `class ${view.outputs[output]}` : `${view.outputs[0]} over ${other}`;
    const track = document.createElement("span");
    track.className = "track";
    const fill = document.createElement("span");
    fill.className = "fill";
    const share = Math.abs(value) / greatest * 50;
    fill.style.left = `${value < 0 ? 50 - share : 50}%`;
    fill.style.width = `${share}%`;
    fill.style.background = `rgb(var(--${value < 0 ? "low" : "high"}))`;
    track.append(fill);
    const number = document.createElement("span");
    number.textContent = value.toFixed(2);
    row.append(name, track, number);
    row.title = `bias ${view.biases[output]} plus contributions ${(value - view.biases[output]).toFixed(2)}`;
    return row;
  });
  const heading = document.createElement("p");
  heading.className = "note";
  heading.textContent = view.outputs.length > 1
    ? "Decision values (bias plus contributions); the greatest wins:"
    : `Decision value (bias ${view.biases[0]} plus contributions); above 0 is class ${view.outputs[0]}, below ${view.classes[0]}:`;
  get("decision").replaceChildren(heading, ...rows);
}

function shownOutput(view) {
  return view.outputs.length > 1 ? state.unit : 0;
}

// Drawing.
function prepare(id) {
  const canvas = get(id), ratio = devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "12px system-ui, sans-serif";
  return [pen, width - LEFT - RIGHT, height - TOP - BOTTOM];
}

function timeAxis(pen, width, height, n) {
  pen.fillStyle = style("--faint");
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const wish = n / Math.max(2, width / 80), power = 10 ** Math.floor(Math.log10(Math.max(wish, 1)));
  const step = Math.max(1, [1, 2, 5, 10].map(f => f * power).find(f => f >= wish) || power * 10);
  for (let t = 0; t < n; t += step) pen.fillText(t, LEFT + (t + .5) / n * width, TOP + height + 6);
  if (state.hover !== null) {
    pen.strokeStyle = style("--faint");
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(LEFT + (state.hover + .5) / n * width, TOP);
    pen.lineTo(LEFT + (state.hover + .5) / n * width, TOP + height);
    pen.stroke();
    pen.setLineDash([]);
  }
}

function colour(share) {  // from -1 to 1, as what is mixed into the middle
  const end = style(share < 0 ? "--low" : "--high").split(",").map(Number);
  const middle = style("--middle").match(/\w\w/g).map(h => parseInt(h, 16));
  return end.map((c, k) => Math.round(middle[k] + (c - middle[k]) * Math.abs(share)));
}

function drawMatrix() {
  const view = views[state.view], unit = view.units[state.unit], s = shown();
  const [pen, width, height] = prepare("matrix");
  const { n, m } = unit, W = bytes(unit.weights[state.channel]);
  const table = Array.from({ length: 256 }, (_, level) => colour(Math.max(-1, (level - 128) / 127)));
  const image = new ImageData(n, m);
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) {
    const at = 4 * ((m - 1 - j) * n + i);
    image.data.set(table[W[i * m + j] + 128], at);
    image.data[at + 3] = 255;
  }
  const small = document.createElement("canvas");
  [small.width, small.height] = [n, m];
  small.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, LEFT, TOP, width, height);
  const place = (i, j) => [LEFT + (i + .5) / n * width, TOP + height - (j + .5) / m * height];
  const [first, last] = s.paths[state.unit];
  pen.lineJoin = "round";
  for (const [ink, thick] of [[style("--ground"), 4.5], [style("--path"), 2]]) {
    pen.strokeStyle = ink;
    pen.lineWidth = thick;
    pen.beginPath();
    first.forEach((j, i) => { pen.lineTo(...place(i, j)); pen.lineTo(...place(i, last[i])); });
    pen.stroke();
  }
  pen.fillStyle = style("--faint");
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const step = Math.max(1, Math.ceil(m / (height / 20)));
  for (let j = 0; j < m; j += step) pen.fillText(j, LEFT - 6, place(0, j)[1]);
  timeAxis(pen, width, height, n);
}

function drawContributions() {
  const view = views[state.view], s = shown(), n = view.units[0].n;
  const [pen, width, height] = prepare("contributions");
  const x = s.values[state.channel], parts = s.contributions[shownOutput(view)];
  const greatest = Math.max(...parts.map(Math.abs), 1e-12);
  const zero = TOP + height / 2;
  parts.forEach((part, i) => {
    const share = part / greatest;
    pen.fillStyle = `rgb(${style(share < 0 ? "--low" : "--high")}, .75)`;
    pen.fillRect(LEFT + i / n * width, zero, Math.max(1, width / n - .5), -share * height / 2);
  });
  pen.strokeStyle = style("--line");
  pen.beginPath();
  pen.moveTo(LEFT, zero);
  pen.lineTo(LEFT + width, zero);
  pen.stroke();
  const [low, high] = s.range ? s.range[state.channel] : [Math.min(...x), Math.max(...x)];
  const range = high - low || 1, level = v => TOP + 6 + (high - v) / range * (height - 12);
  pen.strokeStyle = style("--ink");
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.beginPath();
  x.forEach((v, i) => pen.lineTo(LEFT + (i + .5) / n * width, level(v)));
  pen.stroke();
  pen.fillStyle = style("--faint");
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const v of range === 1 && high === low ? [low] : [low, high]) pen.fillText(v.toPrecision(2), LEFT - 6, level(v));
  pen.lineWidth = 1;
  timeAxis(pen, width, height, n);
}

function draw() {
  drawMatrix();
  drawContributions();
}

function pointed(event) {
  const box = event.currentTarget.getBoundingClientRect(), n = views[state.view].units[state.unit].n;
  read(Math.floor((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT) * n));
}

function pressed(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
  if (!step) return;
  event.preventDefault();
  const last = shown().values[0].length - 1;
  read(state.hover === null ? 0 : Math.max(0, Math.min(last, state.hover + step)));
}

function read(i) {
  const view = views[state.view], s = shown();
  if (i < 0 || i >= s.values[0].length) return;
  state.hover = i;
  const [first, last] = s.paths[state.unit].map(columns => columns[i]);
  const where = first === last ? `column ${first}` : `columns ${first} to ${last}`;
  get("readout").textContent = `time ${i}: value ${s.values[state.channel][i]}, path in ${where}, ` +
    `contribution ${s.contributions[shownOutput(view)][i]}`;
  draw();
}

if (views.length) {
  const choose = (key, id) => get(id).addEventListener("change", event => {
    state[key] = Number(event.target.value);
    if (key === "view") Object.assign(state, { unit: 0, channel: 0, series: 0 });
    if (key === "view" || key === "series") state.drawn = null;
    refresh();
  });
  choose("view", "dataset");
  choose("unit", "unit");
  choose("channel", "channel");
  choose("series", "series");
  const move = by => {
    const some = eligible(), at = some.indexOf(state.series);
    state.series = some[(at + by + some.length) % some.length];
    state.drawn = null;
    refresh();
  };
  get("previous").addEventListener("click", () => move(-1));
  get("next").addEventListener("click", () => move(1));
  get("mistakes").addEventListener("change", event => { Object.assign(state, { mistakes: event.target.checked, drawn: null }); refresh(); });
  for (const id of ["matrix", "contributions"]) {
    get(id).addEventListener("pointermove", pointed);
    get(id).addEventListener("keydown", pressed);
  }
  addEventListener("resize", draw);
}
