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
    const square = {class: "race-c", viewBox: `0 0 ${RACE_PIXELS} ${RACE_PIXELS}`, "aria-hidden": true};
    this.element = make("section", {class: "race"}, make("h3", {}, words.race.title), this.about, this.button, make("div", {class: "lanes"},
      ...this.lanes.map(({done, told}) => make("div", {}, told, makeSvg("svg", square,
        makeSvg("rect", {class: "ground", width: RACE_PIXELS, height: RACE_PIXELS}), done))), this.busy));
  }

  // `runs` are the two stages' {name, BM, BN, stage}, with {gpu, race: {side, ms, busy}}.
  load(runs) {
    this.stop();
    this.runs = runs;
    this.element.hidden = runs.some(({race}) => !race);
    if (this.element.hidden) return;
    const [{gpu, race: {side}}] = runs;
    setText(this.about, say(words.race.about, {gpu, side}));
    const units = RACE_UNITS.filter((unit) => runs.some(({race}) => race.busy[unit] > 0));
    const element = table(words.race.busy, [words.race.unit, ...runs.map((run) => say(words.opening.stage, run))],
      units.map((unit) => [unit, ...runs.map(({race}) => say(words.race.percent, {percent: Math.round(race.busy[unit])}))]));
    element.querySelectorAll("td").forEach((cell) => cell.style.setProperty("--share", cell.textContent.replace(" ", "")));
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
