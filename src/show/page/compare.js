// Two blocks of the same product side by side, at the same share of their steps.

const SHARES = 1000;  // places of the slider

class Compare {
  constructor(root, scenes, predictions, start, onmove) {
    Object.assign(this, {scenes, predictions, onmove, race: new Race()});
    const text = words.compare;
    this.slider = make("input", {type: "range", min: 0, max: SHARES, class: "run", "aria-label": text.share,
      oninput: () => this.goTo(Number(this.slider.value))});
    this.share = make("p", {class: "where"});
    this.finding = make("p", {class: "sentence", "aria-live": "polite"});
    this.sides = [text.left, text.right].map((label, i) => this.side(label, start.sides?.[i] ?? Math.min(i * 2, scenes.length - 1)));
    root.replaceChildren(make("p", {class: "muted"}, say(text.about, scenes[0])), this.slider, this.share, this.finding,
      make("div", {class: "sides"}, ...this.sides.map(({element}) => element)), this.race.element);
    for (const side of this.sides) side.block.load(scenes[side.scene]);
    this.loadRace();
    this.goTo(start.share ?? SHARES / 2);
  }

  side(label, scene) {
    const block = new BlockView(() => {});
    const side = {scene, block, sentence: make("p", {class: "muted"})};
    const names = this.scenes.map(({name}) => name);
    const chosen = choice(label, names, scene, (number) => {
      side.scene = number;
      block.load(this.scenes[number]);
      this.loadRace();
      this.goTo(this.at);
    });
    side.element = make("div", {}, chosen.element, side.sentence, make("div", {class: "side"},
      make("div", {}, section(words.player.matrices, block.matrices, block.aboutMatrices), block.request, block.actions),
      make("div", {}, section(words.player.counters, block.counters), section(words.player.shared, block.shared, block.aboutShared))));
    return side;
  }

  loadRace() {
    this.race.load(this.sides.map(({scene}) => ({...this.scenes[scene], ...this.predictions[scene]})));
  }

  goTo(at) {
    this.at = Math.max(0, Math.min(at, SHARES));
    this.slider.value = this.at;
    setText(this.share, say(words.compare.percent, {percent: (100 * this.at / SHARES).toFixed(1)}));
    const floats = this.sides.map(({block, sentence}) => {
      block.goTo(Math.round(block.recording.last * this.at / SHARES), 0);
      setText(sentence, [block.sentence, block.reason].filter(Boolean).join(". "));
      return floatsPerResult(block).toFixed(2);
    });
    const isWhole = this.sides.every(({block}) => block.recording.scene.complete);
    setText(this.finding, say(words.compare.finding, {left: floats[0], right: floats[1]}) +
      (isWhole ? "" : " " + words.compare.incomplete));
    this.onmove(this);
  }

  // Returns whether the key means something.
  press(key) {
    const by = {ArrowRight: 1, n: 1, ArrowLeft: -1, PageUp: 50, PageDown: -50}[key];
    if (by === undefined) return false;
    this.goTo(this.at + by);
    return true;
  }
}

// What the block has loaded from global memory, with what the copy engine has fetched for it.
function floatsPerResult({recording, replay}) {
  const {BM, BN, M, N} = recording.scene;
  const results = Math.min(BM, M) * Math.min(BN, N);
  return (replay.counts[0].bytes + replay.boxBytes) / 4 / results;
}

// A race of two stages: both compute C again and again, as fast as the model predicts.

const RACE_SECONDS = 8;   // for the C of the slower one
const RACE_PIXELS = 128;  // of a side of C
const RACE_UNITS = ["DRAM", "L2", "L1", "SMEM", "issue", "FMA", "tensor"];  // from memory to the multipliers

class Race {
  constructor() {
    this.frame = null;
    this.button = make("button", {type: "button", onclick: () => this.frame === null ? this.start() : this.stop()}, words.race.start);
    this.about = make("p", {class: "muted"});
    this.lanes = [0, 1].map(() => ({done: makeSvg("path", {class: "block"}), told: make("p")}));
    this.busy = make("div");
    const square = {class: "race-c", viewBox: `0 0 ${RACE_PIXELS} ${RACE_PIXELS}`, "aria-hidden": "true"};
    this.element = make("section", {class: "race"}, make("h3", {}, words.race.title), this.about, this.button, make("div", {class: "lanes"},
      ...this.lanes.map(({done, told}) => make("div", {}, told, makeSvg("svg", square,
        makeSvg("rect", {class: "ground", width: RACE_PIXELS, height: RACE_PIXELS}), done))), this.busy));
  }

  // `runs` are the two stages' {name, BM, BN, stage}, with {gpu, race: {side, ms, busy, gigabytes}}.
  load(runs) {
    this.stop();
    this.runs = runs;
    this.element.hidden = runs.some(({race}) => !race);
    if (this.element.hidden) return;
    const [{gpu, race: {side}}] = runs;
    setText(this.about, say(words.race.about, {gpu, side}));
    const units = RACE_UNITS.filter((unit) => runs.some(({race}) => race.busy[unit] > 0));
    const element = table(words.race.busy, [words.race.unit, ...runs.map((run) => say(words.opening.stage, run))],
      units.map((unit) => [unit, ...runs.map(({race: {busy, gigabytes}}) =>
        say(words.race[gigabytes[unit] > 0 ? "moved" : "percent"], {percent: Math.round(busy[unit]), GB: significant(gigabytes[unit])}))]));
    element.querySelectorAll("td").forEach((cell) => cell.style.setProperty("--share", cell.textContent.replace(/ %.*/, "%")));
    this.busy.replaceChildren(element);
    this.draw(0);
  }

  start() {
    const slower = Math.max(...this.runs.map(({race}) => race.ms)), begin = performance.now();
    const tick = (now) => {
      this.draw((now - begin) / 1000 / RACE_SECONDS * slower);
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
    setText(this.button, words.race.stop);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
    setText(this.button, words.race.start);
  }

  // What both have done in that time: whole products, and the tiles of the next.
  draw(ms) {
    this.lanes.forEach(({done, told}, i) => {
      const {name, BM, BN, race} = this.runs[i], laps = Math.floor(ms / race.ms);
      const across = Math.ceil(race.side / BN), tiles = Math.floor((ms / race.ms - laps) * across * Math.ceil(race.side / BM));
      const pixels = (elements) => Math.min(RACE_PIXELS, elements * RACE_PIXELS / race.side);
      const row = Math.floor(tiles / across);
      done.setAttribute("d", `M0 0H${RACE_PIXELS}V${pixels(row * BM)}H${pixels(tiles % across * BN)}V${pixels((row + 1) * BM)}H0Z`);
      setText(told, say(words.race.told, {name, ms: significant(race.ms), laps}));
    });
  }
}
