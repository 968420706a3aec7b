// The roofline and the staircase of the recorded GPUs.

const narrow = matchMedia("(max-width: 699px)");

// The number of the size that the lesson is about, or of the last one.
function mainSize(sizes) {
  const main = sizes.findIndex((one) => one.size === 4096);
  return main < 0 ? sizes.length - 1 : main;
}

// A recorded run, with the stages' names, which all runs share, and with what follows. Each stair
// has its yardstick, cuBLAS at its precision.
function whole(record, stages) {
  const stair = (recorded) => {
    const {isTf32} = stages[recorded.stage], cublas = isTf32 ? record.cublasTf32 : record.cublas;
    return {roof: 0, cublas, percent: 100 * recorded.tflops / cublas, ...stages[recorded.stage], ...recorded};
  };
  return {...record, stairs: record.stairs.map(stair), dots: record.dots.map((dot) => ({...stages[dot.stage], ...dot}))};
}

// A part of the page: a choice of the GPU, if several are recorded, and of the size; a sentence
// with the finding; the picture; the numbers of the selected mark; and the tables with all numbers.
// `draw(gpu, record, tell)` returns {finding, picture, tables}.
function chart(name, words, allWords, data, draw) {
  const finding = make("p", {class: "finding", "aria-live": "polite"});
  const picture = make("div", {class: "picture"});
  const picked = make("p", {class: "picked", "aria-live": "polite"}, allWords.help);
  const tables = make("div", {
    class: "wide", tabindex: 0, role: "region", "aria-label": allWords.behind});
  const chosen = () => data.gpus[gpu.select.value];
  const update = () => {
    const {gpu: name, sizes} = chosen();
    const drawn = draw(name, whole(sizes[size.select.value], data.stages), (sentence) => setText(picked, sentence));
    setText(finding, drawn.finding);
    setText(picked, allWords.help);
    picture.replaceChildren(drawn.picture);
    tables.replaceChildren(...drawn.tables);
  };
  // Another GPU may be recorded at other sizes: the chosen size stays if it has that size.
  const changeGpu = () => {
    const {sizes} = chosen();
    const before = size.select.selectedOptions[0].textContent;
    const same = sizes.findIndex((one) => grouped(one.size) === before);
    size.select.replaceChildren(...sizes.map((one, i) => make("option", {value: i}, grouped(one.size))));
    size.select.value = same < 0 ? mainSize(sizes) : same;
    update();
  };
  const gpu = choice(allWords.gpu, data.gpus.map((one) => one.gpu), 0, changeGpu);
  const {sizes} = data.gpus[0];
  const size = choice(allWords.size, sizes.map((one) => grouped(one.size)), mainSize(sizes), update);
  update();
  const title = "chart-" + name;
  return make("section", {class: "chart", "aria-labelledby": title},
    make("h3", {id: title}, words.title),
    make("div", {class: "fields"}, data.gpus.length > 1 ? gpu.element : null, size.element),
    finding, picture, picked,
    make("details", {}, make("summary", {}, allWords.behind), tables));
}

function powersOfTen(low, high) {
  const ticks = [];
  for (let tick = 10 ** Math.ceil(Math.log10(low)); tick <= high * 1.01; tick *= 10) {
    ticks.push(Number(tick.toPrecision(1)));
  }
  return ticks;
}

// Roofline.

// The places of the dots' numbers: beside their dots, and below one another if dots are crowded.
function placesOfNumbers(points) {
  const places = [];
  const order = points.map((_, i) => i).sort((a, b) => points[a].y - points[b].y);
  for (const i of order) {
    const place = {x: points[i].x + 13, y: points[i].y + 5};
    const near = (other) => Math.abs(other.x - place.x) < 24 && Math.abs(other.y - place.y) < 15;
    while (places.some((other) => other !== undefined && near(other))) place.y += 3;
    places[i] = place;
  }
  return places;
}

function drawRoofline(words, allWords, gpu, record, tell) {
  const {roofs, peaks} = record;
  const dots = record.dots.map((dot) => ({...dot, peak: peaks[dot.peak].name, peakTflops: peaks[dot.peak].tflops}));
  const highest = Math.max(...peaks.map((peak) => peak.tflops));
  const low = {x: 0.03, y: 0.2}, high = highest < 100 ? 100 : 1000;
  const box = {left: 52, right: 640, top: 34, bottom: 400};
  const x = logScale(box.left, box.right, low.x, high), y = logScale(box.bottom, box.top, low.y, high);
  const dram = roofs[roofs.length - 1], first = dots[0], last = dots[dots.length - 1];

  const above = dots.filter((dot) => dot.tflops > dot.intensity * dram.tbPerS);
  let finding = say(words.finding, {
    gpu, size: grouped(record.size), first: first.stage, last: last.stage,
    low: significant(first.intensity), high: significant(last.intensity),
    slow: significant(first.tflops), fast: significant(last.tflops),
    ridge: significant(last.peakTflops / dram.tbPerS)});
  if (above.length > 0) {
    finding += " " + say(words.above, {
      stages: above.map((dot) => say(allWords.stageName, dot)).join(", ")});
  }

  const svg = plot(810, 446, box,
    {scale: x, ticks: powersOfTen(low.x, high), label: words.x, show: significant},
    {scale: y, ticks: powersOfTen(low.y, high), label: words.y, show: significant}, finding, "group");
  for (const [i, roof] of roofs.entries()) {
    const begin = Math.max(low.x, low.y / roof.tbPerS), end = highest / roof.tbPerS;
    svg.append(
      makeSvg("line", {class: "chart-roof roof" + i, x1: x(begin), y1: y(begin * roof.tbPerS),
        x2: x(end), y2: y(highest)}),
      makeSvg("text", {x: x(2.3 / roof.tbPerS) + (i === 0 ? -8 : 8), y: y(2.3) + (i === 0 ? 0 : 10),
        "text-anchor": i === 0 ? "end" : "start"}, roof.name));
  }
  // Peaks of the same height have one line.
  for (const height of new Set(peaks.map((peak) => peak.tflops))) {
    svg.append(makeSvg("line", {class: "chart-roof", x1: x(height / roofs[0].tbPerS), y1: y(height), x2: box.right, y2: y(height)}),
      ...peaks.filter((peak) => peak.tflops === height).map((peak, i) =>
        makeSvg("text", {x: box.right + 6, y: y(height) + 4 + 13 * i}, `${peak.stages}: ${peak.name}`)));
  }
  const points = dots.map((dot) => ({x: x(dot.intensity), y: y(dot.tflops)}));
  const places = placesOfNumbers(points);
  const sentences = dots.map((dot) => say(words.dot, {
    ...dot, tflops: significant(dot.tflops), intensity: significant(dot.intensity),
    percent: significant(100 * dot.tflops / dot.peakTflops),
    dram: significant(Math.min(dot.intensity * dram.tbPerS, dot.peakTflops))}));
  const marks = dots.map((dot, i) => makeSvg("g", {class: "chart-mark", role: "img",
    "aria-label": sentences[i]},
  makeSvg("line", {class: "chart-leader", x1: points[i].x, y1: points[i].y, x2: places[i].x - 1,
    y2: places[i].y - 5}),
  makeSvg("circle", {class: "chart-dot", cx: points[i].x, cy: points[i].y, r: 6}),
  makeSvg("text", {class: "chart-number", x: places[i].x, y: places[i].y}, String(dot.stage))));
  reachable(marks, (i) => tell(sentences[i]));
  svg.append(...marks);

  return {finding, picture: svg, tables: [
    table(words.title,
      [allWords.stage, words.tiles, words.intensity, allWords.tflops, words.percent],
      dots.map((dot) => [say(allWords.stageName, dot), dot.variant, significant(dot.intensity),
        significant(dot.tflops), significant(100 * dot.tflops / dot.peakTflops)])),
    table(words.memories, [words.memory, words.tbPerS],
      roofs.map((roof) => [roof.name, significant(roof.tbPerS)])),
    table(words.peaks, [words.peak, words.ridge, allWords.tflops],
      peaks.map((peak) => [`${peak.stages}: ${peak.name}`, significant(peak.tflops / dram.tbPerS),
        significant(peak.tflops)]))]};
}

// Staircase. The tensor cores have a scale of their own, so that the stages without them can be
// distinguished. All numbers are in columns beside the bars; on a phone, all but the factors.

function drawStaircase(words, allWords, gpu, record, tell) {
  const {stairs} = record;
  const onGpu = stairs.filter((stair) => stair.onGpu);
  const first = onGpu[0], last = stairs.at(-1), precisionOf = (stair) => words.precisions[stair.isTf32 ? 1 : 0];
  const finding = say(words.finding, {
    gpu, size: grouped(record.size), first: first.stage, last: last.stage,
    slow: significant(first.tflops), fast: significant(last.tflops), precision: precisionOf(last),
    percent: significant(last.percent), cublas: significant(last.cublas)});

  // Stages that multiply alike stand beside one yardstick.
  const groups = [];
  for (const stair of stairs) {
    const isTensor = stair.roof > 0, group = groups.at(-1);
    if (group?.isTensor === isTensor && group.stairs[0].isTf32 === stair.isTf32) group.stairs.push(stair);
    else groups.push({isTensor, stairs: [stair]});
  }
  const kHigh = 16, kStep = 21, kLeast = 34;  // from one number of an axis to the next
  const [kWidth, kLeft, kRight, kColumns] = narrow.matches ? [366, 164, 224, [284, null, 366]] : [770, 206, 530, [600, 674, 768]];
  const inColumns = (texts, y, kind) => texts.map((content, i) => kColumns[i] && text(kColumns[i], y, "end", content, kind));
  const numbers = (stair) => [significant(stair.tflops), stair.times > 0 ? significant(stair.times) : "–",
    stair.cublas > 0 ? stair.percent < 0.01 ? "< 0.01" : significant(stair.percent) : "–"];
  const sentences = stairs.map((stair) => [
    say(words.stair, {...stair, tflops: significant(stair.tflops), percent: numbers(stair)[2], precision: precisionOf(stair)}),
    stair.times > 0 ? say(words.times, {times: significant(stair.times)}) : "",
    stair.roof > 0 ? say(words.tensor, {roof: significant(stair.roof)}) : ""].join(" ").trim());
  const text = (x, y, anchor, content, kind = null) => makeSvg("text", {x, y, "text-anchor": anchor, class: kind}, content);
  const line = (kind, x, top, bottom) => makeSvg("line", {class: kind, x1: x, x2: x, y1: top, y2: bottom});
  const heads = [allWords.tflops, words.factor, words.percent];
  const parts = inColumns(heads, 16, "chart-head"), marks = [];
  let y = 20;
  for (const {isTensor, stairs: of} of groups) {
    const alike = groups.filter((group) => group.isTensor === isTensor).flatMap((group) => group.stairs);
    const most = Math.max(...alike.flatMap((stair) => [stair.tflops, stair.roof, stair.cublas]));
    const x = linearScale(kLeft, kRight, 0, most), {cublas} = of[0], bottom = y + 26 + kStep * of.length;
    parts.push(text(0, y + 14, "start", words.groups[isTensor ? of[0].isTf32 ? 2 : 1 : 0], "chart-head"));
    let step = 10 ** Math.floor(Math.log10(most));
    while (x(step) - kLeft < kLeast) step *= 2;
    for (let tick = 0; tick <= most; tick += step) {
      parts.push(line("plot-grid", x(tick), y + 22, bottom), text(x(tick), bottom + 13, "middle", String(tick)));
    }
    of.forEach((stair, i) => {
      const top = y + 26 + i * kStep;
      marks.push(makeSvg("g", {class: "chart-mark", role: "img", "aria-label": sentences[marks.length]},
        makeSvg("rect", {class: "chart-row", x: 0, y: top - 3, width: kWidth, height: kStep}),
        text(kLeft - 8, top + 13, "end", say(allWords.stageName, stair)),
        makeSvg("rect", {class: isTensor ? "chart-bar tensor" : "chart-bar", x: kLeft, y: top, width: Math.max(x(stair.tflops) - kLeft, 0.5), height: kHigh}),
        isTensor ? line("chart-roof", x(stair.roof), top - 3, top + kHigh + 3) : null,
        ...inColumns(numbers(stair), top + 13, null)));
    });
    if (cublas > 0) {
      parts.push(text(Math.max(192, Math.min(x(cublas), kRight - 64)), y + 14, "middle", say(words.yardstick, {precision: precisionOf(of[0]), cublas: significant(cublas)})));
      marks.at(-1).after = line("chart-yardstick", x(cublas), y + 20, bottom);
    }
    y = bottom + 22;
  }
  reachable(marks, (i) => tell(sentences[i]));
  const svg = makeSvg("svg", {class: "plot stairs", viewBox: `0 0 ${kWidth} ${y}`, role: "group", "aria-label": finding},
    ...parts, ...marks.flatMap((mark) => [mark, mark.after ?? null]));
  const picture = make("div", {}, svg, make("p", {class: "help"}, words.legend));
  return {finding, picture, tables: [table(words.title, [allWords.stage, ...heads, allWords.roof],
    stairs.map((stair) => [say(allWords.stageName, stair), ...numbers(stair), stair.roof > 0 ? significant(stair.roof) : "–"]))]};
}

// Fills `root`; `data` is that of src/show/page/data.cpp.
function startCharts(root, data, words) {
  const {charts} = words;
  const draw = () => root.replaceChildren(
    ...Object.entries({staircase: drawStaircase, roofline: drawRoofline}).map(([name, drawn]) =>
      chart(name, charts[name], charts, data, (...recorded) => drawn(charts[name], charts, ...recorded))));
  narrow.onchange = draw;
  draw();
}
