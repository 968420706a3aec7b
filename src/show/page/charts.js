// The roofline and the staircase of the recorded GPUs.

// The number of the size that the lesson is about, or of the last one.
function mainSize(sizes) {
  const main = sizes.findIndex((one) => one.size === 4096);
  return main < 0 ? sizes.length - 1 : main;
}

// A recorded run, with the stages' names, which all runs share, and with what follows.
function whole(record, stages) {
  const percent = (stair) => 100 * stair.tflops / record.cublas;
  return {...record,
    stairs: record.stairs.map((stair) => ({roof: 0, percent: percent(stair), ...stages[stair.stage], ...stair})),
    dots: record.dots.map((dot) => ({...stages[dot.stage], ...dot}))};
}

// A part of the page: a choice of the GPU, if several are recorded, and of the size; a sentence
// with the finding; the picture; the numbers of the selected mark; and the tables with all numbers.
// `draw(gpu, record, tell)` returns {finding, picture, tables}.
function chart(name, words, allWords, data, choices, draw) {
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
  for (const one of choices) one.select.addEventListener("change", update);
  update();
  const title = "chart-" + name;
  return make("section", {class: "chart", "aria-labelledby": title},
    make("h3", {id: title}, words.title),
    make("div", {class: "fields"}, data.gpus.length > 1 ? gpu.element : null, size.element, ...choices.map((one) => one.element)),
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
  const box = {left: 52, right: 748, top: 34, bottom: 400};
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

  const svg = plot(770, 446, box,
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
  for (const peak of peaks) {
    svg.append(
      makeSvg("line", {class: "chart-roof", x1: x(peak.tflops / roofs[0].tbPerS), y1: y(peak.tflops),
        x2: box.right, y2: y(peak.tflops)}),
      makeSvg("text", {x: box.right, y: y(peak.tflops) + (peak.tflops === highest ? -7 : 15),
        "text-anchor": "end"}, `${peak.stages}: ${peak.name}`));
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

// Staircase.

function drawStaircase(words, allWords, gpu, record, tell, isLog) {
  const {stairs, cublas} = record;
  const onGpu = stairs.filter((stair) => stair.onGpu);
  const first = onGpu[0], last = stairs[stairs.length - 1];
  const finding = say(words.finding, {
    gpu, size: grouped(record.size), first: first.stage, last: last.stage,
    slow: significant(first.tflops), fast: significant(last.tflops),
    percent: significant(last.percent), cublas: significant(cublas)});

  const kHigh = 22, kStep = 32;
  const most = Math.max(cublas, ...stairs.map((stair) => Math.max(stair.tflops, stair.roof)));
  const box = {left: 190, right: 700, top: 34, bottom: 44 + kStep * stairs.length};
  const least = 1e-4;
  const x = isLog ? logScale(box.left, box.right, least, most) :
    linearScale(box.left, box.right, 0, most);
  const step = 10 ** Math.floor(Math.log10(most));
  const round = Array.from({length: Math.floor(most / step) + 1}, (_, i) => i * step);
  const svg = plot(770, box.bottom + 42, box,
    {scale: x, ticks: isLog ? powersOfTen(least, most) : round, label: allWords.tflops,
      show: (tick) => String(tick)},
    {scale: null, ticks: [], label: ""}, finding, "group");
  svg.prepend(makeSvg("defs", {}, makeSvg("pattern", {
    id: "chart-hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)"},
  makeSvg("rect", {class: "chart-hatch-ground", width: 7, height: 7}),
  makeSvg("rect", {class: "chart-hatch-line", width: 2.5, height: 7}))));

  const sentences = stairs.map((stair) => [
    say(words.stair, {...stair, tflops: significant(stair.tflops), percent: significant(stair.percent)}),
    stair.times > 0 ? say(words.times, {times: significant(stair.times)}) : "",
    stair.roof > 0 ? say(words.tensor, {roof: significant(stair.roof)}) : ""].join(" ").trim());
  const marks = stairs.map((stair, i) => {
    const top = box.top + 8 + i * kStep, end = Math.max(x(stair.tflops), box.left + 0.5);
    const label = significant(stair.tflops) +
      (stair.times > 0 ? `  (× ${significant(stair.times)})` : "");
    const isInside = end > box.left + 0.6 * (box.right - box.left);
    return makeSvg("g", {class: "chart-mark", role: "img", "aria-label": sentences[i]},
      makeSvg("rect", {class: "chart-row", x: 0, y: top - 4, width: 770, height: kStep}),
      makeSvg("text", {x: box.left - 8, y: top + 16, "text-anchor": "end"},
        say(allWords.stageName, stair)),
      makeSvg("rect", {class: stair.roof > 0 ? "chart-bar hatched" : "chart-bar", x: box.left, y: top,
        width: end - box.left, height: kHigh}),
      stair.roof === 0 ? null : makeSvg("line", {class: "chart-roof", x1: x(stair.roof), y1: top - 3,
        x2: x(stair.roof), y2: top + kHigh + 3}),
      makeSvg("text", {class: isInside && stair.roof === 0 ? "chart-value on-bar" : "chart-value",
        x: isInside ? box.left + 10 : end + 8, y: top + 16},
        label));
  });
  reachable(marks, (i) => tell(sentences[i]));
  svg.append(
    makeSvg("line", {class: "chart-yardstick", x1: x(cublas), y1: box.top, x2: x(cublas),
      y2: box.bottom}),
    makeSvg("text", {x: x(cublas), y: box.top - 8, "text-anchor": "middle"},
      `${words.cublas} ${significant(cublas)}`),
    ...marks);

  const picture = make("div", {}, svg, make("p", {class: "help"}, words.legend));
  return {finding, picture, tables: [table(words.title,
    [allWords.stage, allWords.tflops, words.percent, words.factor, allWords.roof],
    [...stairs.map((stair) => [say(allWords.stageName, stair), significant(stair.tflops),
      stair.percent === 0 ? "< 0.01" : significant(stair.percent),
      stair.times > 0 ? significant(stair.times) : "–",
      stair.roof > 0 ? significant(stair.roof) : "–"]),
    [words.cublas, significant(cublas), "100", "–", "–"]])]};
}

// Fills `root`; `data` is that of src/show/page/data.cpp.
function startCharts(root, data, words) {
  const {charts} = words;
  const scale = choice(charts.scale, charts.scales, 0, () => {});
  root.append(
    chart("staircase", charts.staircase, charts, data, [scale], (gpu, record, tell) => drawStaircase(
      charts.staircase, charts, gpu, record, tell, scale.select.value === "1")),
    chart("roofline", charts.roofline, charts, data, [], (gpu, record, tell) => drawRoofline(
      charts.roofline, charts, gpu, record, tell)));
}
