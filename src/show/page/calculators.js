// A calculator that answers at once, by a function of rules.js.

// A field for a whole number, which calls `onchange` at every change.
function numberField(label, value, low, high, onchange) {
  const input = make("input", {
    type: "number", inputmode: "numeric", value, min: low, max: high, step: 1, oninput: onchange});
  return {
    element: make("label", {class: "choice"}, label + " ", input),
    input,
    label,
    get: () => input.value.trim() === "" ? NaN : Number(input.value),
    set: (number) => { input.value = number; },
    isGood: () => {
      const number = input.value.trim() === "" ? NaN : Number(input.value);
      const good = Number.isInteger(number) && number >= low && number <= high;
      input.setAttribute("aria-invalid", !good);
      return good;
    },
    complaint: (words) => say(words.whole, {name: label, low: grouped(low), high: grouped(high)}),
  };
}

// The sentence of the first field that has no good number; "" if all have.
function complaintOf(fields, words) {
  const bad = fields.filter((field) => !field.isGood());
  return bad.length === 0 ? "" : bad[0].complaint(words);
}

// A part of the page with a title, fields, a sentence that states the finding, and details.
function calculator(name, words, fields) {
  const finding = make("p", {class: "finding", "aria-live": "polite"});
  const details = make("div", {class: "details"});
  const title = "calculator-" + name;
  const element = make("section", {class: "calculator", "aria-labelledby": title},
    make("h3", {id: title}, words.title),
    make("p", {}, words.about),
    make("div", {class: "fields"}, ...fields),
    finding, details);
  const show = (sentence, isWrong, ...children) => {
    setText(finding, sentence);
    finding.classList.toggle("wrong", isWrong);
    details.replaceChildren(...children);
  };
  return {element, show};
}

// Occupancy. The curves are those of NVIDIA's spreadsheet: one number changes, the others stay.

function occupancyCurve(words, gpu, kernel, name, most, step, choose) {
  const width = 360, height = 205;
  const box = {left: 36, right: 330, top: 28, bottom: 160};
  const x = linearScale(box.left, box.right, 0, most), y = linearScale(box.bottom, box.top, 0, 100);
  const percentAt = (value) => occupancy(gpu, {...kernel, [name]: value}).percent;
  const value = kernel[name], percent = percentAt(value);
  const svg = plot(width, height, box,
    {scale: x, ticks: [0, most / 4, most / 2, 3 * most / 4, most].map(Math.round), label: words[name],
      show: grouped},
    {scale: y, ticks: [0, 25, 50, 75, 100], label: words.curve, show: String},
    say(words.curveFinding, {name: words[name], percent: significant(percent), value: grouped(value)}));
  let path = "";
  let before = null;
  for (let at = name === "threads" ? 1 : 0; at <= most; at += step) {
    const height = y(percentAt(at)).toFixed(1);
    if (height !== before) path += (path === "" ? "M" : "H") + x(at).toFixed(1);
    if (height !== before) path += (path.length < 10 ? " " : "V") + height;
    before = height;
  }
  svg.append(makeSvg("path", {class: "plot-curve", d: path + "H" + x(most)}));
  if (value >= 0 && value <= most) {
    svg.append(
      makeSvg("line", {class: "plot-here", x1: x(value), y1: box.top, x2: x(value), y2: box.bottom}),
      makeSvg("circle", {class: "plot-point", cx: x(value), cy: y(percent), r: 5}));
  }
  svg.addEventListener("click", (event) => {
    const from = svg.getBoundingClientRect();
    const at = (event.clientX - from.left) / from.width * width;
    const share = Math.min(Math.max((at - box.left) / (box.right - box.left), 0), 1);
    choose(Math.max(Math.round(share * most / step) * step, name === "threads" ? step : 0));
  });
  return svg;
}

function occupancyCalculator(data, allWords) {
  const words = allWords.occupancy;
  const {gpus, kernels} = data;
  const own = kernels.length;  // no preset
  const gpu = choice(words.gpu, gpus.map((one) => one.name),
    Math.max(gpus.findIndex((one) => one.name === "H200"), 0), () => { fill(); update(); });
  const preset = choice(words.preset,
    [...kernels.map((kernel) => say(words.presetName, kernel)), allWords.own],
    Math.max(kernels.findIndex((kernel) => kernel.stage === 5), 0), () => { fill(); update(); });
  const typed = () => { preset.select.value = own; update(); };
  const fields = {
    threads: numberField(words.threads, 256, 1, 1024, typed),
    registers: numberField(words.registers, 32, 0, 255, typed),
    smemBytes: numberField(words.smemBytes, 0, 0, 1 << 20, typed),
  };
  const {element, show} = calculator("occupancy", words,
    [gpu.element, preset.element, ...Object.values(fields).map((field) => field.element)]);

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
    const complaint = complaintOf(Object.values(fields), allWords);
    if (complaint !== "") return show(complaint, true);
    if (chosen !== undefined && !(on.computeCapability in chosen.compiled)) {
      return show(words.notCompiled, true);
    }
    const kernel = {};
    for (const name in fields) kernel[name] = fields[name].get();
    const result = occupancy(on, kernel);
    const sentence = say(result.blocks === 0 ? words.none : words.finding, {
      gpu: on.name, blocks: result.blocks, threads: kernel.threads,
      percent: significant(result.percent), limiter: words.limiters[result.limiter]});

    const has = {"threads": on.threadsPerSm, "blocks": on.blocksPerSm,
      "shared memory": on.smemBytesPerSm, "registers": on.registersPerSm};
    const warpThreads = result.warpsPerBlock * on.lanes;
    const takes = {"threads": warpThreads, "blocks": 1, "shared memory": kernel.smemBytes,
      "registers": warpThreads * kernel.registers};
    const rows = Object.keys(result.limits).map((name) => [
      words.limiters[name] + (name === result.limiter ? " ◀" : ""),
      say(words.units[name], {value: grouped(has[name])}), grouped(takes[name]),
      result.limits[name] === Infinity ? words.unlimited : grouped(result.limits[name])]);
    const curve = (name, most, step) =>
      occupancyCurve(words, on, kernel, name, most, step, (value) => {
        fields[name].set(value);
        typed();
      });
    return show(sentence, result.blocks === 0,
      table(words.caption, [words.limit, say(words.has, {gpu: on.name}), words.takes, words.allows],
        rows),
      make("div", {class: "curves"},
        curve("threads", 1024, on.lanes), curve("registers", 255, 1),
        curve("smemBytes", on.smemBytesPerBlock, 256)),
      make("p", {class: "help"}, words.curveHelp));
  };
  fill();
  update();
  return element;
}

// Fills `root`; `data` is that of src/show/page/data.cpp.
function startCalculators(root, data, words) {
  root.append(
    make("p", {}, words.calculators.about),
    occupancyCalculator(data, words.calculators));
}
