
// Drawing: what a visitor draws is scored by the C of `warplearn export`, compiled to WebAssembly
// (follow.c).  The weights of the models come from the page.
const drawing = { engine: startEngine(), at: null };

function startEngine() {
  try {
    const code = Uint8Array.from(atob(get("engine").textContent.trim()), c => c.charCodeAt(0));
    return new WebAssembly.Instance(new WebAssembly.Module(code)).exports;
  } catch {
    return null;  // no WebAssembly: series can be chosen, not drawn
  }
}

function offerDrawing(view) {
  const possible = drawing.engine !== null && view.units.every(unit => unit.rests);
  get("draw-label").hidden = !possible;
  if (!possible) get("draw").checked = false;
  get("undo").hidden = !get("draw").checked;
  get("undo").disabled = !state.drawn;
  get("contributions").classList.toggle("drawing", get("draw").checked);
}

function exactWeights(unit) {  // (row, column, channel)
  if (!unit.exact) {
    const channels = unit.weights.length;
    unit.exact = new Float32Array(unit.n * unit.m * channels);
    unit.weights.forEach((text, c) => {
      const rests = bytes(unit.rests[c]);
      bytes(text).forEach((level, at) => {
        unit.exact[at * channels + c] = (level + rests[at] / 254) / 127 * unit.scale;
      });
    });
  }
  return unit.exact;
}

// The score of a series (channels, time) with a matrix, its path, and the parts of its time steps.
function follow(unit, values) {
  const { memory, follow: run, __heap_base: base } = drawing.engine;
  const length = values[0].length, channels = values.length, cells = length * unit.m;
  const places = [];
  let end = base.value;
  for (const size of [length * channels, cells * channels, cells, length, length, length]) {
    places.push(end);
    end += 4 * size;
  }
  const missing = end - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  const [x, w, grid, first, last, parts] = places;
  const series = new Float32Array(memory.buffer, x, length * channels);
  values.forEach((channel, c) => channel.forEach((v, i) => { series[i * channels + c] = v; }));
  new Float32Array(memory.buffer, w, cells * channels).set(exactWeights(unit).subarray(0, cells * channels));
  const score = run(x, w, length, unit.m, channels, grid, first, last, parts);
  const path = [first, last].map(place => [...new Int32Array(memory.buffer, place, length)]);
  return { score, path, parts: [...new Float32Array(memory.buffer, parts, length)] };
}

// What a page knows of a series that a model has not seen before.
function judged(view, values) {
  const followed = view.units.map(unit => follow(unit, values));
  const decisions = [...view.biases];
  const contributions = view.outputs.map(() => values[0].map(() => 0));
  view.units.forEach((unit, u) => {
    decisions[unit.output] += unit.factor * followed[u].score;
    followed[u].parts.forEach((part, i) => { contributions[unit.output][i] += unit.factor * part; });
  });
  const rounded = line => line.map(v => Number(v.toPrecision(4)));
  const winner = decisions.length > 1 ? decisions.indexOf(Math.max(...decisions)) : Number(decisions[0] > 0);
  return {
    values: values.map(rounded), decisions: rounded(decisions), predicted: view.classes[winner],
    contributions: contributions.map(rounded), paths: followed.map(each => each.path),
  };
}

function redraw(change) {
  const view = views[state.view];
  if (!state.drawn) {
    const margins = view.channels.map((_, c) => {
      const all = view.series.flatMap(s => s.values[c]), low = Math.min(...all), high = Math.max(...all);
      return [low - (high - low) / 10, high + (high - low) / 10];
    });
    state.drawn = { values: shown().values.map(channel => [...channel]), range: margins };
  }
  const { values, range } = state.drawn;
  change(values[state.channel], range[state.channel]);
  state.drawn = { ...judged(view, values), range };
  const { hover } = state;
  refresh();
  if (hover !== null) read(hover);
}

function drawnTo(event) {
  const box = event.currentTarget.getBoundingClientRect(), n = views[state.view].units[0].n;
  const length = shown().values[0].length;
  const along = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
  const down = (event.clientY - box.top - TOP - 6) / (box.height - TOP - BOTTOM - 12);
  const i = Math.max(0, Math.min(length - 1, Math.floor(along * n)));
  return { i, share: 1 - Math.max(0, Math.min(1, down)) };
}

function stroke(event) {
  const to = drawnTo(event), from = drawing.at || to;
  drawing.at = to;
  const step = from.i <= to.i ? 1 : -1;
  redraw((line, [low, high]) => {
    for (let i = from.i; i !== to.i + step; i += step) {
      const part = from.i === to.i ? 1 : (i - from.i) / (to.i - from.i);
      line[i] = low + (high - low) * (from.share + part * (to.share - from.share));
    }
  });
}

if (views.length) {
  const canvas = get("contributions");
  canvas.addEventListener("pointerdown", event => {
    if (!get("draw").checked || event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drawing.at = null;
    stroke(event);
  });
  canvas.addEventListener("pointermove", event => {
    if (get("draw").checked && drawing.at && event.buttons) stroke(event);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { drawing.at = null; });
  canvas.addEventListener("keydown", event => {
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!up || !get("draw").checked) return;
    event.preventDefault();
    const i = state.hover === null ? 0 : state.hover;
    redraw((line, [low, high]) => { line[i] = Math.max(low, Math.min(high, line[i] + up * (high - low) / 20)); });
    read(i);
  });
  get("draw").addEventListener("change", () => offerDrawing(views[state.view]));
  get("undo").addEventListener("click", () => { state.drawn = null; refresh(); });
  refresh();
}
