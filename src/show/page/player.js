// Plays one block: source, matrices and shared memory, the request, and the counts so far.

const SPEEDS = [0.5, 1, 2, 8];  // of PLAY_SECONDS for a block
const MOST_TIMES = 500;         // that a key is repeated

class Player {
  // `scenes` are recorded blocks, and numbersOf(scene's number) its counts and speed, as [name, value];
  // `start` says where to begin, as in the page's address; onmove is called after each step.
  constructor(root, scenes, numbersOf, start, onmove) {
    Object.assign(this, {root, scenes, numbersOf, onmove});
    this.playing = null;
    this.times = 0;  // that the next key is repeated
    this.speed = 1;
    this.oneWarp = false;
    this.lane = 0;
    this.build();
    this.load(start.scene ?? 0, start.step ?? 0, start.lane ?? 0, start.warp ?? -1);
  }

  build() {
    const text = words.player;
    const button = (label, sign, act) => make("button", {type: "button", title: label, onclick: act}, sign);
    this.playButton = button(text.playOrPause, text.play, () => this.toggle());
    this.hazardButton = button(text.hazards, text.hazard, () => this.nextHazard(1));
    this.tileButton = button(text.nextTile, text.tile, () => this.nextTile(1));
    this.sceneChoice = choice(this.scenes[0].stage >= 0 ? text.stage : text.kernel,
      this.scenes.map((scene) => scene.name), 0, (scene) => this.load(scene, 0, this.lane, -1));
    this.sceneChoice.element.hidden = this.scenes.length < 2;
    this.speedChoice = choice(text.speed, text.speeds, this.speed, (speed) => { this.speed = speed; });
    this.warpBox = make("span");
    this.laneChoice = choice(text.lane, [], 0, (lane) => this.setLane(lane));
    this.slider = make("input", {type: "range", min: 0, class: "run", "aria-label": text.slider,
      oninput: () => this.goTo(Number(this.slider.value))});
    this.chapters = make("div", {class: "chapters", "aria-hidden": "true"});
    this.where = make("p", {class: "where"});
    this.chapter = make("p", {class: "chapter"});
    this.sentence = make("span", {class: "sentence"});
    this.reason = make("p", {class: "reason"});
    this.told = make("div", {"aria-live": "polite"}, make("p", {}, this.sentence), this.reason);
    this.laneLine = make("p", {class: "muted"});
    this.alarm = make("p", {class: "complaint", role: "status", hidden: true});
    this.source = new CodeView(text.source);
    this.block = new BlockView((lane) => this.setLane(lane), () => this.goTo(this.now));
    this.opening = make("section", {class: "opening"});
    this.help = make("div", {class: "keys", hidden: true},
      make("dl", {}, ...text.keyHelp.flatMap(([keys, does]) => [make("dt", {}, keys), make("dd", {}, does)])), legend(),
      make("p", {}, words.request.sign), make("p", {}, words.page.made));
    const controls = make("div", {class: "controls", role: "group", "aria-label": text.region}, this.sceneChoice.element,
      button(text.toStart, text.start, () => this.goTo(0)),
      button(text.barrierBefore, text.barrierBack, () => this.nextBarrier(-1)),
      button(text.stepBack, text.back, () => this.next(-1)), this.playButton,
      button(text.stepForward, text.forward, () => this.next(1)), this.tileButton,
      button(text.nextBarrier, text.barrier, () => this.nextBarrier(1)),
      button(text.toEnd, text.end, () => this.goTo(this.recording.last)), this.hazardButton,
      this.speedChoice.element, this.warpBox, this.laneChoice.element,
      this.voteButton = button(text.voteLong, text.vote, () => this.toggleVote()),
      button(text.keysLong, text.keys, () => this.toggleHelp()));
    this.acting = make("div", {class: "acting"},
      make("section", {class: "asking"}, this.block.request, this.block.actions),
      this.block.sideButtons, section(text.shared, this.block.shared, this.block.aboutShared), this.block.registers, this.block.fragments);
    this.root.replaceChildren(controls, make("div", {class: "line-of-time"}, this.slider, this.chapters), this.help,
      make("div", {class: "telling"}, this.told, make("div", {class: "details"}, this.chapter, this.where, this.laneLine)), this.alarm,
      make("div", {class: "stage"},
        section(text.source, this.source.element),
        this.memory = make("div", {class: "memory"}, section(text.matrices, this.block.matrices, this.block.aboutMatrices), section(text.counters, this.block.counters)),
        this.opening, this.acting));
    this.root.classList.add("player");
  }

  load(number, step, lane, warp) {
    this.stop();
    this.number = Math.max(0, Math.min(number, this.scenes.length - 1));
    const scene = this.scenes[this.number];
    this.block.load(scene);
    this.recording = this.block.recording;
    this.life = this.block.life;
    this.lane = Math.max(0, Math.min(lane, this.recording.lanes - 1));
    this.warp = warp < this.recording.warps ? warp : -1;
    this.oneWarp = this.warp >= 0;
    this.sceneChoice.select.value = this.number;
    this.slider.max = this.recording.last;
    this.hazardButton.hidden = this.recording.hazards.length === 0;
    this.tileButton.hidden = this.recording.tileStarts.size === 0;
    const warps = Array.from({length: this.recording.warps}, (_, i) => String(i));
    this.warpChoice = choice(words.player.warp, [words.player.anyWarp, ...warps], this.warp + 1,
      (chosen) => this.setWarp(chosen - 1));
    this.warpBox.replaceChildren(this.warpChoice.element);
    this.laneChoice.select.replaceChildren(
      ...Array.from({length: this.recording.lanes}, (_, i) => make("option", {value: i}, String(i))));
    this.laneChoice.select.value = this.lane;
    this.source.load(scene.source.map((line) => Recording.texts[line]), scene.first);
    this.showChapters();
    this.opening.replaceChildren(...this.openingParts(scene));
    this.goTo(step);
  }

  showChapters() {
    const {chapters} = this.life, {last} = this.recording;
    this.chapters.replaceChildren(...chapters.map(({at, name}, i) => {
      const to = chapters[i + 1]?.at ?? last + 1;
      const part = make("i", {class: name, title: this.life.titleOf(name), onclick: () => this.goTo(at)});
      part.style.flexGrow = to - at;
      return part;
    }));
  }

  // The kernel's idea, and its numbers beside those of the stage before.
  openingParts(scene) {
    const text = words.opening;
    const now = this.numbersOf(this.number), before = this.numbersOf(this.number - 1);
    const heads = [say(text.numbers, scene), ...(before.length > 0 ? [say(text.stage, this.scenes[this.number - 1])] : []), say(text.stage, scene)];
    const old = (i) => before.length === 0 ? [] : [before[i] ? significant(before[i][1]) : "–"];
    const rows = now.map(([name, value], i) => [name, ...old(i), significant(value)]).filter(([, ...cells]) => cells.some((cell) => cell !== "0"));
    return [make("p", {class: "idea"}, scene.idea), openingPicture(scene, this.life, this.scenes[this.number - 1]) ?? "",
      ...(now.length > 0 ? [table(text.caption, heads, rows)] : [])];
  }

  goTo(step) {
    this.block.warp = this.warp;
    this.block.goTo(step, this.lane);
    this.draw();
    this.onmove(this);
  }

  get now() {
    return this.block.replay.step;
  }

  // The step `by` from here, of the chosen warp if one was chosen.
  next(by) {
    const {steps, last} = this.recording;
    let step = Math.max(0, Math.min(this.now + by, last));
    while (this.oneWarp && step > 0 && step < last && steps[step].warp >= 0 && steps[step].warp !== this.warp) step += Math.sign(by);
    this.goTo(step);
  }

  find(by, isWanted) {
    for (let step = this.now + by; step >= 0 && step <= this.recording.last; step += by) {
      if (isWanted(step)) return this.goTo(step);
    }
    this.goTo(by > 0 ? this.recording.last : 0);
  }

  nextBarrier(by) {
    this.find(by, (step) => this.recording.steps[step].kind === Kind.barrier);
  }

  // To where a tile begins, before all later ones.
  nextTile(by) {
    const {tileStarts} = this.recording;
    if (tileStarts.size > 0) this.find(by, (step) => tileStarts.has(step));
  }

  nextHazard(by) {
    const places = this.recording.hazards.map(({shown}) => shown).filter((step) => step >= 0).sort((a, b) => by * (a - b));
    if (places.length > 0) this.goTo(places.find((step) => by * (step - this.now) > 0) ?? places[0]);
  }

  setLane(lane) {
    this.lane = (lane + this.recording.lanes) % this.recording.lanes;
    this.laneChoice.select.value = this.lane;
    this.goTo(this.now);
  }

  // -1: all warps.
  setWarp(warp) {
    this.warp = warp;
    this.oneWarp = warp >= 0;
    this.warpChoice.select.value = warp + 1;
    if (this.oneWarp) this.goToWarp();
    else this.goTo(this.now);
  }

  // The first step of the chosen warp from here on, or the last before.
  goToWarp() {
    const isIts = ({warp}) => warp === this.warp;
    const {steps} = this.recording;
    if (isIts(steps[this.now])) return this.goTo(this.now);
    const after = steps.findIndex((step, i) => i > this.now && isIts(step));
    this.goTo(after >= 0 ? after : Math.max(0, steps.findLastIndex(isIts)));
  }

  // Tells the block in a minute: slowly what is new, fast what repeats.
  toggle() {
    if (this.playing !== null) return this.stop();
    if (this.now === this.recording.last) this.goTo(0);
    let time = this.life.beginOf(this.now), before = performance.now(), shown = this.now;
    const tick = (now) => {
      if (this.now !== shown) time = this.life.beginOf(this.now);  // the reader moved on or back
      time += Math.max(0, now - before) / 1000 * SPEEDS[this.speed];
      before = now;
      const step = this.life.stepAt(time);
      if (step > this.now) this.next(step - this.now);
      if (this.oneWarp) time = Math.max(time, this.life.beginOf(this.now));
      shown = this.now;
      if (time >= this.life.seconds) return this.stop();
      this.playing = requestAnimationFrame(tick);
    };
    this.playing = requestAnimationFrame(tick);
    setText(this.playButton, words.player.pause);
    this.root.classList.add("playing");
    // A screen reader could not keep up.
    this.told.setAttribute("aria-live", "off");
  }

  stop() {
    if (this.playing === null) return;
    cancelAnimationFrame(this.playing);
    this.playing = null;
    setText(this.playButton, words.player.play);
    this.root.classList.remove("playing");
    this.told.setAttribute("aria-live", "polite");
    this.onmove(this);
  }

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
  }

  toggleVote() {
    this.block.isVoting = !this.block.isVoting;
    this.voteButton.setAttribute("aria-pressed", this.block.isVoting);
    this.block.requestView.step = null;  // it asks anew
    this.goTo(this.now);
  }

  // Brings the marked line into sight, where it may no longer be.
  showLine() {
    this.source.now?.scrollIntoView({block: "center"});
  }

  // Returns whether the key means something. A number before a key repeats it.
  press(key) {
    if (/^\d$/.test(key)) {
      this.times = Math.min(10 * this.times + Number(key), MOST_TIMES);
      return true;
    }
    const acts = {
      " ": () => this.toggle(), ArrowRight: () => this.next(1), n: () => this.next(1),
      ArrowLeft: () => this.next(-1),
      b: () => this.nextBarrier(1), B: () => this.nextBarrier(-1),
      t: () => this.nextTile(1), T: () => this.nextTile(-1),
      w: () => this.setWarp((this.warp + 1) % this.recording.warps),
      W: () => this.setWarp((Math.max(this.warp, 0) + this.recording.warps - 1) % this.recording.warps),
      l: () => this.setLane(this.lane + 1), L: () => this.setLane(this.lane - 1),
      f: () => this.setWarp(this.oneWarp ? -1 : Math.max(0, this.recording.steps[this.now].warp)),
      x: () => this.nextHazard(1), X: () => this.nextHazard(-1), r: () => this.block.turnOver(),
      v: () => this.toggleVote(), c: () => this.block.requestView.toggleChange(),
      s: () => this.load((this.number + 1) % this.scenes.length, 0, this.lane, -1),
      S: () => this.load((this.number + this.scenes.length - 1) % this.scenes.length, 0, this.lane, -1),
      g: () => this.goTo(0), Home: () => this.goTo(0),
      G: () => this.goTo(this.recording.last), End: () => this.goTo(this.recording.last),
      "?": () => this.toggleHelp(), h: () => this.toggleHelp(),
    };
    const isKnown = Object.hasOwn(acts, key);
    for (let left = Math.max(1, this.times); isKnown && left > 0; --left) acts[key]();
    this.times = 0;
    return isKnown;
  }

  draw() {
    const {recording, now} = this;
    const step = recording.steps[now];
    const text = words.player, {scene} = recording, [x, y, z] = scene.grid;
    const parts = [say(text.step, {step: now, last: recording.last}), say(text.passed, {barriers: step.epoch}),
      say(text.block, {number: scene.number, threads: recording.threads})];
    setText(this.where, [...parts, ...(scene.M > 0 ? [] : [say(text.grid, {x, y, z})])].join(" · "));
    this.slider.value = now;
    this.slider.setAttribute("aria-valuetext", this.where.textContent);
    const chapter = this.life.chapterOf(step);
    setText(this.chapter, this.life.titleOf(chapter));
    this.chapter.className = "chapter " + chapter;
    setText(this.sentence, this.block.sentence);
    setText(this.reason, now === 0 ? words.opening.begin : this.block.reason);
    setText(this.laneLine, laneText(recording, step, this.lane, this.warp));
    this.drawAlarm();
    this.source.mark(step.kind === Kind.blockBegin ? 0 : step.site?.line ?? 0);
    this.opening.hidden = now > 0;
    this.acting.classList.toggle("alone", !this.block.hasShared);
    this.acting.hidden = this.memory.hidden = now === 0;
  }

  drawAlarm() {
    const {recording, now} = this;
    const here = recording.hazards.filter(({steps}) => steps.includes(now)).map(({sentence}) => sentence);
    if (now === recording.last && recording.scene.fault) here.push(recording.scene.fault);
    if (now === recording.last && !recording.scene.complete) here.push(words.player.incomplete);
    if (here.length === 0 && recording.hazards.length > 0) {
      here.push(say(words.player.found, {
        found: recording.hazards.filter(({found}) => found >= 0 && found <= now).length, all: recording.hazards.length}));
    }
    this.alarm.hidden = here.length === 0;
    setText(this.alarm, here.join(" "));
  }
}

// The kernel's source: coloured, and a long line continues below its first parameter.

const CODE = [
  ["comment", /\/\/.*|\/\*.*?\*\//y],
  ["text", /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y],
  ["number", /\b(?:0[xX][\da-fA-F]+|\d[\d.]*(?:[eE][+-]?\d+)?)[uUlLfF]*\b/y],
  ["cuda", /\b(?:__\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize)\b|#\w+/y],
  ["keyword", /\b(?:auto|bool|break|case|char|class|const|constexpr|continue|do|double|else|enum|false|float[24]?|for|if|inline|int[24]?|long|namespace|return|short|signed|size_t|sizeof|static|static_assert|struct|switch|template|true|typedef|typename|u?int\d+_t|union|unsigned|using|void|volatile|while)\b/y],
  ["", /\w+|\s+|[^\w\s]/y],
];

const LONGEST_PART = 24;  // characters; a longer part may be broken at any blank

// Parts of a line that stay together: each ends behind a comma or an opening bracket.
function codeParts(line) {
  const parts = [[]];
  for (let at = 0; at < line.length;) {
    for (const [kind, pattern] of CODE) {
      pattern.lastIndex = at;
      const found = pattern.exec(line)?.[0];
      if (!found) continue;
      parts.at(-1).push(kind ? make("span", {class: "code-" + kind}, found) : found);
      at += found.length;
      if (found === "(" || (/^\s/.test(found) && line[at - found.length - 1] === ",")) parts.push([]);
      break;
    }
  }
  return parts.flatMap((part) => {
    const element = make("span", {}, ...part);
    if (element.textContent.length <= LONGEST_PART) element.className = "part";
    return [element, make("wbr")];
  });
}

class CodeView {
  constructor(label) {
    this.element = make("pre", {class: "source", tabindex: 0, "aria-label": label});
  }

  load(lines, first) {
    this.first = first;
    this.now = null;
    this.lines = lines.map((line, i) => {
      const blanks = line.length - line.trimStart().length;
      const element = make("span", {class: "line"}, make("span", {class: "number"}, String(first + i)),
        ...codeParts(line.trimStart()), "\n");
      element.style.setProperty("--blanks", blanks);
      return element;
    });
    this.element.replaceChildren(...(this.lines.length > 0 ? this.lines : [words.player.sourceMissing]));
    this.element.scrollTop = 0;
  }

  mark(number) {
    const line = this.lines[number - this.first] ?? null;
    if (line === this.now) return;
    this.now?.classList.remove("now");
    this.now?.removeAttribute("aria-current");
    this.now = line;
    if (line === null) return;
    line.classList.add("now");
    line.setAttribute("aria-current", "step");
    const {scrollTop, clientHeight} = this.element, top = line.offsetTop;
    if (top < scrollTop + 40 || top > scrollTop + clientHeight - 60) this.element.scrollTop = top - clientHeight / 3;
  }
}

// A kernel's idea as a picture, drawn from the recorded block: which part of C belongs to the block,
// to a warp and to a lane, and the way of the elements from global memory to their products.

const TILE_PIXELS = 150, WHOLE_PIXELS = 84;

// [first, count] of each run of neighbours in an ascending list.
function runsOf(numbers) {
  const runs = [];
  for (const number of numbers) {
    if (runs.length > 0 && runs.at(-1)[0] + runs.at(-1)[1] === number) ++runs.at(-1)[1];
    else runs.push([number, 1]);
  }
  return runs;
}

// A to the left of C and B above it, `scale` pixels per element. `marks` are {name, rows, columns}:
// runs of C's, with the rows of A and the columns of B that they need.
function productPicture(scale, rows, columns, depth, marks) {
  const GAP = 8, deep = Math.min(TILE_PIXELS / 4, Math.max(5, depth * scale)), left = deep + GAP, top = deep + GAP;
  const width = left + columns * scale, height = top + rows * scale;
  const rect = (name, x, y, w, h) => makeSvg("rect", {class: name, x, y, width: Math.max(w, 1.5), height: Math.max(h, 1.5)});
  const svg = makeSvg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true"},
    rect("ground", left, top, columns * scale, rows * scale), rect("ground", 0, top, deep, rows * scale),
    rect("ground", left, 0, columns * scale, deep));
  for (const {name, rows: of, columns: across} of marks) {
    for (const [y, tall] of of) svg.append(rect(name, 0, top + y * scale, deep, tall * scale));
    for (const [x, wide] of across) svg.append(rect(name, left + x * scale, 0, wide * scale, deep));
    for (const [y, tall] of of) for (const [x, wide] of across) svg.append(rect(name, left + x * scale, top + y * scale, wide * scale, tall * scale));
  }
  return svg;
}

// What brings the elements on, place by place; null where nothing does.
function wayOf(life) {
  const text = words.opening, {recording, registers} = life, {steps, scene} = recording;
  const has = (kind) => steps.some(({action}) => action === kind);
  const requests = steps.filter(({kind, site}) => kind === Kind.request && site.array !== recording.array("C"));
  const bytes = (of) => [...new Set(of.map(({pattern}) => pattern.bytes))].sort((a, b) => a - b).join(text.and);
  const from = (shared, direction) => requests.filter(({site}) => site.array.shared === shared && site.direction === direction);
  const loads = from(false, Direction.load), copies = from(true, Direction.copy), reads = from(true, Direction.load);
  const plain = reads.filter(({pattern}) => pattern.matrices === 0);
  const places = recording.places.length || 1;
  const isWarpgroup = has(ActionKind.multiply), sums = Math.max(...registers.sums.map(({length}) => length));
  const warp = life.lines.findIndex(([rows]) => rows.length > 0);
  const [rows, columns] = registers.linesOf(warp, 0);
  return [
    text.gmem,
    has(ActionKind.box) ? text.box : copies.length > 0 ? say(text.async, {bytes: bytes(copies)}) : say(text.load, {bytes: bytes(loads)}),
    life.hasShared ? say(text.smem, {places}) : null,
    !life.hasShared ? null : [plain.length > 0 ? say(text.read, {bytes: bytes(plain)}) : "", reads.length > plain.length ? text.ldmatrix : "",
      isWarpgroup ? text.inShared[Math.min(plain.length, 1)] : ""].filter(Boolean).join("; "),
    say(text.registers, {sums, rows: rows.length, columns: columns.length}),
    isWarpgroup ? text.wgmma : scene.fragments.length > 0 ? text.mma : text.ffma,
    life.roles || null,
  ];
}

const ways = new WeakMap();  // of scenes

function wayOfScene(scene, life = null) {
  if (!ways.has(scene)) ways.set(scene, wayOf(life ?? new Life(new Recording(scene))));
  return ways.get(scene);
}

// The picture of a scene, with what the stage before has otherwise. Null if it is no product, or its tile is not known.
function openingPicture(scene, life, before) {
  const text = words.opening, {M, N, K, BM, BN, BK} = scene, {registers} = life;
  const warp = life.lines.findLastIndex(([rows]) => rows.length > 0);
  if (!M || !BM || !BN || warp < 0) return null;
  const [allRows, allColumns] = ["rows", "columns"].map((_, i) => [...new Set(life.lines.flatMap((lines) => lines[i]))].sort((a, b) => a - b));
  const mark = (name, [rows, columns]) => ({name, rows: runsOf(rows), columns: runsOf(columns)});
  const shift = ([rows, columns]) => [rows.map((row) => row - allRows[0]), columns.map((column) => column - allColumns[0])];
  const lines = registers.linesOf(warp, 9 % scene.lanes);
  const panel = (picture, ...captions) => make("figure", {}, picture, ...captions.map((caption) => make("figcaption", {}, caption)));
  const sign = (name, words) => make("span", {class: "sign"}, make("i", {class: name, "aria-hidden": "true"}), words);
  const way = wayOfScene(scene, life), old = before && before.M > 0 ? wayOfScene(before) : way;
  return make("div", {class: "idea-picture"},
    panel(productPicture(WHOLE_PIXELS / Math.max(M, N), M, N, K, [mark("block", [allRows, allColumns])]),
      say(text.whole, scene), sign("block", text.ofBlock)),
    panel(productPicture(TILE_PIXELS / Math.max(BM, BN), BM, BN, BK || K, [mark("warp", shift(life.lines[warp])), mark("lane", shift(lines))]),
      say(text.tile, scene), sign("warp", say(text.ofWarp, {warp})), sign("lane", text.ofLane)),
    make("ol", {class: "way"}, ...way.map((words, i) => words && make("li", {class: words !== old[i] ? "new" : null}, words))));
}
