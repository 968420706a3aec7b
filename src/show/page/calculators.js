// A calculator that answers at once, by a function of rules.js.

// A field for a whole number, which calls `onchange` at every change.
function numberField(label, value, low, high, onchange) {
  const input = make("input", {
    type: "number", inputmode: "numeric", value, min: low, max: high, step: 1, oninput: onchange});
  return {
    element: make("label", {class: "choice"}, label + " ", input),
    get: () => input.valueAsNumber,
    set: (number) => { input.value = number; },
    // "" if its number is good.
    complaint: () => {
      const number = input.valueAsNumber, good = Number.isInteger(number) && number >= low && number <= high;
      input.setAttribute("aria-invalid", !good);
      return good ? "" : say(words.calculators.whole, {name: label, low: grouped(low), high: grouped(high)});
    },
  };
}

// The curves are those of NVIDIA's spreadsheet: one number changes, the others stay.
function occupancyCurve(gpu, kernel, name, most, step, choose) {
  const text = words.calculators.occupancy, value = kernel[name];
  const width = 360, height = 205, left = 36, right = 330, top = 28, bottom = 160;
  const x = (at) => left + (right - left) * at / most, y = (percent) => bottom - (bottom - top) * percent / 100;
  const percentAt = (at) => occupancy(gpu, {...kernel, [name]: at}).percent, percent = percentAt(value);
  const line = (name, x1, y1, x2, y2) => makeSvg("line", {class: name, x1, y1, x2, y2});
  const label = (x, y, anchor, words) => makeSvg("text", {x, y, "text-anchor": anchor}, words);
  const svg = makeSvg("svg", {class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": say(text.curveFinding, {name: text[name], percent: significant(percent), value: grouped(value)})},
    label((left + right) / 2, bottom + 34, "middle", text[name]), label(left, top - 8, "start", text.curve));
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const at = x(share * most), high = y(100 * share);
    svg.append(line("plot-grid", at, top, at, bottom), line("plot-grid", left, high, right, high),
      label(at, bottom + 16, "middle", grouped(Math.round(share * most))), label(left - 6, high + 4, "end", String(100 * share)));
  }
  let path = "", before = null;
  for (let at = name === "threads" ? 1 : 0; at <= most; at += step) {
    const high = y(percentAt(at)).toFixed(1);
    if (high !== before) path += before === null ? `M${x(at).toFixed(1)} ${high}` : `H${x(at).toFixed(1)}V${high}`;
    before = high;
  }
  svg.append(makeSvg("path", {class: "plot-curve", d: path + "H" + x(most)}));
  if (value >= 0 && value <= most) {
    svg.append(line("plot-here", x(value), top, x(value), bottom), makeSvg("circle", {class: "plot-point", cx: x(value), cy: y(percent), r: 5}));
  }
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * width;
    const share = Math.min(Math.max((at - left) / (right - left), 0), 1);
    choose(Math.max(Math.round(share * most / step) * step, name === "threads" ? step : 0));
  });
  return svg;
}

// Fills `root`; `data` is that of src/show/page/data.cpp.
function startCalculators(root, {gpus, kernels}) {
  const all = words.calculators, text = all.occupancy;
  const own = kernels.length;  // no preset
  const gpu = choice(text.gpu, gpus.map((one) => one.name),
    Math.max(gpus.findIndex((one) => one.name === "H200"), 0), () => { fill(); update(); });
  const preset = choice(text.preset,
    [...kernels.map((kernel) => say(text.presetName, kernel)), all.own],
    Math.max(kernels.findIndex((kernel) => kernel.stage === 5), 0), () => { fill(); update(); });
  const typed = () => { preset.select.value = own; update(); };
  const fields = {
    threads: numberField(text.threads, 256, 1, 1024, typed),
    registers: numberField(text.registers, 32, 0, 255, typed),
    smemBytes: numberField(text.smemBytes, 0, 0, 1 << 20, typed),
  };
  const finding = make("p", {class: "finding", "aria-live": "polite"}), details = make("div", {class: "details"});
  const show = (sentence, isWrong, ...children) => {
    setText(finding, sentence);
    finding.classList.toggle("wrong", isWrong);
    details.replaceChildren(...children);
  };

  // The numbers of the preset on the chosen GPU, if they are known.
  const fill = () => {
    const kernel = kernels[preset.select.value];
    const compiled = kernel?.compiled[gpus[gpu.select.value].computeCapability];
    if (compiled === undefined) return;
    fields.threads.set(kernel.threads);
    fields.registers.set(compiled[0]);
    fields.smemBytes.set(compiled[1]);
  };

  const update = () => {
    const on = gpus[gpu.select.value], chosen = kernels[preset.select.value];
    const complaints = Object.values(fields).map((field) => field.complaint()).filter(Boolean);
    if (complaints.length > 0) return show(complaints[0], true);
    if (chosen !== undefined && !(on.computeCapability in chosen.compiled)) {
      return show(text.notCompiled, true);
    }
    const kernel = {};
    for (const name in fields) kernel[name] = fields[name].get();
    const result = occupancy(on, kernel);
    const sentence = say(result.blocks === 0 ? text.none : text.finding, {
      gpu: on.name, blocks: result.blocks, threads: kernel.threads,
      percent: significant(result.percent), limiter: text.limiters[result.limiter]});

    const has = {"threads": on.threadsPerSm, "blocks": on.blocksPerSm,
      "shared memory": on.smemBytesPerSm, "registers": on.registersPerSm};
    const warpThreads = result.warpsPerBlock * on.lanes;
    const takes = {"threads": warpThreads, "blocks": 1, "shared memory": kernel.smemBytes,
      "registers": warpThreads * kernel.registers};
    const rows = Object.keys(result.limits).map((name) => [
      text.limiters[name] + (name === result.limiter ? " ◀" : ""),
      say(text.units[name], {value: grouped(has[name])}), grouped(takes[name]),
      result.limits[name] === Infinity ? text.unlimited : grouped(result.limits[name])]);
    const curve = (name, most, step) =>
      occupancyCurve(on, kernel, name, most, step, (value) => {
        fields[name].set(value);
        typed();
      });
    return show(sentence, result.blocks === 0,
      table(text.caption, [text.limit, say(text.has, {gpu: on.name}), text.takes, text.allows],
        rows),
      make("div", {class: "curves"},
        curve("threads", 1024, on.lanes), curve("registers", 255, 1),
        curve("smemBytes", on.smemBytesPerBlock, 256)),
      make("p", {class: "help"}, text.curveHelp));
  };
  fill();
  update();
  root.append(make("p", {}, all.about), make("section", {class: "calculator", "aria-labelledby": "calculator-occupancy"},
    make("h3", {id: "calculator-occupancy"}, text.title), make("p", {}, text.about),
    make("div", {class: "fields"}, gpu.element, preset.element, ...Object.values(fields).map(({element}) => element)), finding, details));
}
