// Two calculators that answer at once, by the functions of rules.js.

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

// The bank playground.

const PLAYGROUND_ROWS = 34;  // of 32 words: a padded column of 32 rows ends in the last one

// By the order of words.banks.presets.
const BANK_PRESETS = [
  {bytes: 4, stride: 1, padding: 0, swizzle: false},
  {bytes: 4, stride: 32, padding: 0, swizzle: false},
  {bytes: 4, stride: 32, padding: 1, swizzle: false},
  {bytes: 4, stride: 32, padding: 0, swizzle: true},
  {bytes: 4, stride: 0, padding: 0, swizzle: false},
  {bytes: 4, stride: 2, padding: 0, swizzle: false},
  {bytes: 16, stride: 4, padding: 0, swizzle: false},
  {bytes: 16, stride: 32, padding: 0, swizzle: false},
  {bytes: 16, stride: 32, padding: 0, swizzle: true},
];

// The word at which a lane's access begins. The swizzle moves pieces as wide as an access within
// their row of 32 words.
function wordOfLane(lane, {bytes, stride, padding, swizzle}) {
  const unit = bytes / WORD_BYTES, word = lane * stride;
  const row = Math.floor(word / 32);
  let column = word % 32;
  if (swizzle) {
    const pieces = 32 / unit;
    column = (Math.floor(column / unit) ^ row % pieces) * unit + column % unit;
  }
  return row * (32 + padding) + column;
}

function laneNames(lanes, words) {
  return lanes.map((lane) => say(words.lane, {lane})).join(", ");
}

function bankCalculator(allWords) {
  const words = allWords.banks;
  const own = BANK_PRESETS.length;
  const kinds = [4, 8, 16];
  const preset = choice(words.preset, [...words.presets, allWords.own], 1,
    (number) => { if (number < own) fill(BANK_PRESETS[number]); update(); });
  const access = choice(words.access, words.accesses, 0, () => update());
  const bytes = choice(words.bytes, kinds.map(String), 0, () => changed());
  const stride = numberField(words.stride, 32, 0, 64, () => changed());
  const padding = numberField(words.padding, 0, 0, 32, () => changed());
  const swizzle = make("input", {type: "checkbox", onchange: () => changed()});
  const {element, show} = calculator("banks", words,
    [preset.element, access.element, bytes.element, stride.element, padding.element,
      make("label", {class: "choice"}, swizzle, " " + words.swizzle)]);

  const lanes = [];  // the fields of the lanes' words
  for (let lane = 0; lane < 32; ++lane) {
    lanes.push(make("input", {
      type: "number", inputmode: "numeric", min: 0, "aria-label": say(words.lane, {lane}),
      oninput: () => { preset.select.value = own; update(); }}));
  }
  const moving = numberField(words.moving, 0, 0, 31, () => {});
  const served = make("div", {class: "wide", tabindex: 0, role: "region", "aria-label": words.served});
  const memory = make("div", {class: "wide"});
  element.append(served,
    make("details", {},
      make("summary", {}, words.memory),
      make("p", {class: "help"}, words.memoryHelp), moving.element, memory),
    make("details", {},
      make("summary", {}, words.lanes),
      make("p", {class: "help"}, words.lanesHelp),
      make("div", {class: "lanes"}, ...lanes.map((input, lane) =>
        make("label", {}, say(words.lane, {lane}) + " ", input)))));

  const fill = (pattern) => {
    bytes.select.value = kinds.indexOf(pattern.bytes);
    stride.set(pattern.stride);
    padding.set(pattern.padding);
    swizzle.checked = pattern.swizzle;
    lanes.forEach((input, lane) => { input.value = wordOfLane(lane, pattern); });
  };
  const bytesPerLane = () => kinds[bytes.select.value];
  // The pattern was changed: the lanes follow it.
  const changed = () => {
    preset.select.value = own;
    if (complaintOf([stride, padding], allWords) === "") {
      fill({bytes: bytesPerLane(), stride: stride.get(), padding: padding.get(),
        swizzle: swizzle.checked});
    }
    update();
  };

  let at = 0;  // the word of the memory that has the keyboard
  const cells = [];
  const place = (word) => {
    if (!moving.isGood()) return;
    const unit = bytesPerLane() / WORD_BYTES;
    lanes[moving.get()].value = Math.floor(word / unit) * unit;
    moving.set((moving.get() + 1) % 32);
    preset.select.value = own;
    update();
  };
  const go = (word) => {
    cells[at].tabIndex = -1;
    at = Math.min(Math.max(word, 0), cells.length - 1);
    cells[at].tabIndex = 0;
    cells[at].focus();
  };
  const steps = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 32, ArrowUp: -32};
  const onkeydown = (event) => {
    const word = cells.indexOf(event.target);
    if (event.key in steps) go(word + steps[event.key]);
    else if (event.key === "Home") go(word - word % 32);
    else if (event.key === "End") go(word - word % 32 + 31);
    else if (event.key === "Enter" || event.key === " ") place(word);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const bankHeads = () => [...Array(32).keys()].map((bank) => make("th", {scope: "col"}, String(bank)));
  const drawMemory = () => {
    const rows = [];
    for (let row = 0; row < PLAYGROUND_ROWS; ++row) {
      const tr = make("tr", {role: "row"}, make("th", {scope: "row", role: "rowheader"}, String(row)));
      for (let bank = 0; bank < 32; ++bank) {
        const cell = make("td", {role: "gridcell", tabindex: cells.length === at ? 0 : -1});
        cells.push(cell);
        tr.append(cell);
      }
      rows.push(tr);
    }
    memory.append(make("table", {
      class: "banks", role: "grid", "aria-label": words.memory, onkeydown,
      onclick: (event) => {
        const word = cells.indexOf(event.target);
        if (word < 0) return;
        go(word);
        place(word);
      }},
    make("thead", {}, make("tr", {role: "row"}, make("th", {scope: "col"}, words.row), ...bankHeads())),
    make("tbody", {}, ...rows)));
  };

  // The lanes at each word, and the wavefront that serves them.
  const mark = (words_, wavefronts) => {
    const unit = bytesPerLane() / WORD_BYTES;
    const lanesAt = cells.map(() => []), turnAt = [];
    wavefronts.forEach((wavefront, turn) => wavefront.lanes.forEach((lane) => {
      for (let i = 0; i < unit; ++i) {
        lanesAt[words_[lane] + i].push(lane);
        turnAt[words_[lane] + i] ??= turn;
      }
    }));
    cells.forEach((cell, word) => {
      const here = lanesAt[word];
      setText(cell, here.length === 0 ? "" : here.length === 1 ? String(here[0]) : here[0] + "+");
      cell.className = here.length === 0 ? "" : "turn" + turnAt[word] % 8;
      const name = say(here.length === 0 ? words.cell : words.cellLanes,
        {word, bank: word % 32, lanes: laneNames(here, words)});
      if (cell.getAttribute("aria-label") !== name) {
        cell.setAttribute("aria-label", name);
        cell.title = name;
      }
    });
  };

  const wavefrontTable = (wordsOfLanes, wavefronts) => {
    const unit = bytesPerLane() / WORD_BYTES;
    const rows = wavefronts.map((wavefront, turn) => {
      const atBank = Array.from({length: 32}, () => []);
      for (const lane of wavefront.lanes) {
        for (let i = 0; i < unit; ++i) atBank[(wordsOfLanes[lane] + i) % 32].push(lane);
      }
      return make("tr", {},
        make("th", {scope: "row", title: say(words.group, {group: wavefront.group})}, String(turn + 1)),
        ...atBank.map((here) => make("td", {
          class: here.length === 0 ? null : "turn" + turn % 8,
          title: here.length === 0 ? null : laneNames(here, words)},
        here.length === 0 ? "" : here.length === 1 ? String(here[0]) : here[0] + "+")));
    });
    return make("table", {class: "banks"},
      make("caption", {}, words.served),
      make("thead", {}, make("tr", {}, make("th", {scope: "col"}, words.wavefront), ...bankHeads())),
      make("tbody", {}, ...rows));
  };

  const update = () => {
    const wrong = (sentence) => {
      served.replaceChildren();
      mark([], []);
      show(sentence, true);
    };
    const complaint = complaintOf([stride, padding], allWords);
    if (complaint !== "") return wrong(complaint);
    const unit = bytesPerLane() / WORD_BYTES, last = cells.length - unit;
    const wordsOfLanes = lanes.map((input) => input.value.trim() === "" ? null : Number(input.value));
    const isOutside = (word) => word !== null && !(Number.isInteger(word) && word >= 0 && word <= last);
    const isMisaligned = (word) => word !== null && word % unit !== 0;
    const outside = wordsOfLanes.findIndex(isOutside);
    const misaligned = wordsOfLanes.findIndex(isMisaligned);
    if (outside >= 0) {
      return wrong(say(words.outside, {lane: outside, word: wordsOfLanes[outside], words: cells.length}));
    }
    if (misaligned >= 0) {
      return wrong(say(words.misaligned, {
        lane: misaligned, word: wordsOfLanes[misaligned], bytes: bytesPerLane(), unit}));
    }
    const request = {
      addresses: wordsOfLanes.map((word) => word === null ? null : word * WORD_BYTES),
      bytes: bytesPerLane(), warp: GPU_WARP};
    const isLoad = access.select.value === "0";
    const {wavefronts, conflicts} = isLoad ? wavefrontsOfLoad(request) : wavefrontsOfStore(request);
    mark(wordsOfLanes, wavefronts);
    served.replaceChildren(wavefrontTable(wordsOfLanes, wavefronts));
    if (wavefronts.length === 0) return show(words.idle, false);
    const wordsOfBank = Array.from({length: GPU_WARP.banks}, () => new Set());  // of all groups
    for (const first of wordsOfLanes.filter((word) => word !== null)) {
      for (let word = first; word < first + Math.max(1, bytesPerLane() / WORD_BYTES); ++word) wordsOfBank[word % GPU_WARP.banks].add(word);
    }
    const isOneGroup = wavefronts.at(-1).group === 0;
    const inGroup = (group) => wavefronts.filter((wavefront) => wavefront.group === group).length;
    return show(say(conflicts === 0 ? words.free : isOneGroup ? words.finding : words.findingOfGroups, {
      access: words.accesses[access.select.value], wavefronts: wavefronts.length, conflicts,
      most: Math.max(...wavefronts.map((wavefront) => inGroup(wavefront.group))),
      all: Math.max(...wordsOfBank.map(({size}) => size))}), false);
  };
  drawMemory();
  fill(BANK_PRESETS[1]);
  update();
  return element;
}

// Fills `root`; `data` is that of src/show/page/data.cpp.
function startCalculators(root, data, words) {
  root.append(
    make("p", {}, words.calculators.about),
    occupancyCalculator(data, words.calculators),
    bankCalculator(words.calculators));
}
