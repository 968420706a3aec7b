// What lanes hold in registers: the elements of A and B that loads bring to them, and those of C that
// they store.

const NEVER = 2 ** 30;       // a step after all others
const MOST_LINES = 8;        // rows of sums that are shown one by one
const MOST_RUNS = 16;        // and neighbouring rows that are shown as one; also the most columns

// An element is a number: twice the word of A, or twice that of B and 1; -1 is none.
class Registers {
  constructor(recording) {
    this.recording = recording;
    const {warps, scene} = recording;
    this.factors = [recording.array("A"), recording.array("B")];
    this.sums = Array.from({length: recording.threads}, () => []);  // of each thread: words of C
    // Of each warp, for each row of A and column of B: the steps that brought its elements last, in
    // ascending order.
    this.brought = Array.from({length: warps}, () => [new Map(), new Map()]);
    this.loads = Array.from({length: warps}, () => []);  // {at, elements, count: of each lane}
    this.lines = this.loads.map(() => [[], []]);  // [rows, columns] of its sums
    if (scene.M > 0) this.follow();
    for (const lines of this.brought.flat()) for (const steps of lines.values()) steps.sort();
  }

  // [line, k] of an element.
  placeOf(element) {
    const {K, N} = this.recording.scene, word = element >> 1;
    return element & 1 ? [word % N, Math.floor(word / N)] : [Math.floor(word / K), word % K];
  }

  follow() {
    const {recording} = this, C = recording.array("C"), replay = new Replay(recording);
    const isRequest = ({kind}) => kind === Kind.request;
    for (const step of recording.steps.filter(isRequest)) {
      if (step.site.array !== C || step.site.direction !== Direction.store) continue;
      recording.forEachWord(step, (word, lane) => this.sums[step.warp * recording.lanes + lane].push(word));
    }
    this.lines = this.lines.map((_, warp) => this.linesOf(warp));
    const hasShared = recording.arrays.some(({shared}) => shared);
    recording.steps.forEach((step, at) => {
      replay.advance();
      const isLoad = isRequest(step) && step.site.direction === Direction.load;
      if (isLoad && (step.site.array.shared || !hasShared)) this.bring(step, at, replay.held.get(step.site.array));
    });
  }

  // A load brings elements to the lanes of a warp. `held` says what the words of shared memory hold.
  bring(step, at, held) {
    const {recording} = this, {matrices, bytes} = step.pattern;
    const count = matrices || Math.ceil(bytes / 4), elements = new Int32Array(recording.lanes * count).fill(-1);
    const {K} = recording.scene, brought = this.brought[step.warp];
    let isKnown = false, next = 0, last = -1;
    const give = (word, lane) => {
      const {matrix, word: of} = step.site.array.shared ? held[word] ?? {} : {matrix: step.site.array, word};
      const factor = this.factors.indexOf(matrix ?? null), element = factor < 0 ? -1 : 2 * of + factor;
      next = lane === last ? next + 1 : lane * count;
      last = lane;
      elements[next] = element;
      if (element < 0) return;
      const [line, k] = this.placeOf(element), lines = brought[element & 1];
      if (!lines.has(line)) lines.set(line, new Int32Array(K).fill(NEVER));
      lines.get(line)[k] = at;
      isKnown = true;
    };
    if (matrices === 0) recording.forEachWord(step, give);
    for (let i = 0; i < 32 * matrices; ++i) {
      const lane = Math.floor(i / matrices), at = 2 * (4 * lane + i % matrices);
      give(recording.address(step, Recording.matrixWords[at]) / 4 + Recording.matrixWords[at + 1], lane);
    }
    if (isKnown) this.loads[step.warp].push({at, elements, count});
  }

  // The elements that a load brings to a lane.
  elementsOf({elements, count}, lane) {
    return elements.subarray(lane * count, (lane + 1) * count).filter((element) => element >= 0);
  }

  // [rows, columns] of C of which a warp, or one lane of it, holds sums.
  linesOf(warp, lane = -1) {
    const {lanes, scene: {N}} = this.recording, first = warp * lanes;
    const words = (lane < 0 ? this.sums.slice(first, first + lanes).flat() : this.sums[first + lane] ?? []);
    const sorted = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);
    return [sorted(words.map((word) => Math.floor(word / N))), sorted(words.map((word) => word % N))];
  }

  // Whether all elements were followed that the warp's sums need.
  knows(warp) {
    return this.lines[warp].every((lines, i) => lines.every((line) => this.brought[warp][i].has(line)));
  }

  // How many products a warp's sum in that row and column has at a step: as many as both of its
  // factors have come for.
  productsAt(warp, row, column, step) {
    const [A, B] = this.brought[warp];
    return Math.min(countUpTo(A.get(row), step), countUpTo(B.get(column), step));
  }
}

// The registers of one lane: the elements of A and B that it loaded last, and its sums, each with
// the number of its products.
class RegistersView {
  constructor(life) {
    const {recording, registers} = this.life = life;
    this.registers = registers;
    // The elements of one row along K that an instruction multiplies: of a wgmma all of a tile.
    const isWarpgroup = life.multiplications.some(({length}) => length > 0);
    this.depth = isWarpgroup ? recording.scene.BK : recording.scene.fragments.length > 0 ? 8 : 1;
    this.isWarpgroup = isWarpgroup;
    this.title = make("h3");
    this.factors = [make("p"), make("p")];
    this.table = make("div", {class: "sums-box"});
    this.about = make("p", {class: "about"});
    this.element = make("div", {class: "registers"}, this.title, ...this.factors, this.table, this.about);
  }

  // "A[0–3][13] A[4–7][12]": the last element of each line, and of each place within the depth.
  held(warp, lane, step, isB) {
    const places = new Map();
    let isNow = false;
    for (const load of this.registers.loads[warp]) {
      const {at} = load;
      if (at > step) break;
      for (const element of this.registers.elementsOf(load, lane)) {
        if ((element & 1) !== isB) continue;
        const [line, k] = this.registers.placeOf(element);
        if (!places.has(line)) places.set(line, new Map());
        places.get(line).set(k % this.depth, k);
        isNow = at === step;
      }
    }
    const lines = new Map();  // by the places along K that they have
    for (const line of [...places.keys()].sort((a, b) => a - b)) {
      const ks = numberRanges(places.get(line).values());
      lines.set(ks, [...lines.get(ks) ?? [], line]);
    }
    const text = [...lines].map(([ks, of]) => isB ? `B[${ks}][${numberRanges(of)}]` : `A[${numberRanges(of)}][${ks}]`);
    return {text: text.join(" "), isNow};
  }

  everLoads(warp, isB) {
    return this.registers.loads[warp].some(({elements}) => elements.some((element) => element >= 0 && (element & 1) === isB));
  }

  draw(step, warp, lane) {
    const text = words.registers, {registers, life} = this, [rows, columns] = registers.linesOf(warp, lane);
    setText(this.title, say(text.title, {warp, lane, sums: rows.length * columns.length}));
    this.factors.forEach((element, isB) => {
      const {text: held, isNow} = this.held(warp, lane, step, isB);
      setText(element, held ? text.loaded[isB] + held : this.isWarpgroup && !this.everLoads(warp, isB) ? text.shared[isB] : text.nothing[isB]);
      element.className = isNow ? "now" : "";
    });
    const products = rows.map((row) => columns.map((column) =>
      life.isKnown[warp] ? registers.productsAt(warp, row, column, step) : life.productsOf(warp, step)));
    setText(this.about, say(rows.length === 0 ? text.none : text.about, {of: life.products, warp}));
    // Rows that have as many products are one row, if there are many: neighbours, or all.
    const alike = (lines, keyOf) => {
      const groups = new Map();
      lines.forEach((line, i) => groups.set(keyOf(line, i), [...groups.get(keyOf(line, i)) ?? [], i]));
      return [...groups.values()];
    };
    const shown = alike(rows, (row, i) =>
      rows.length > MOST_RUNS ? products[i].join() : rows.length > MOST_LINES ? [row - i, products[i]].join() : row);
    // So are columns.
    const shownColumns = alike(columns, (column, j) => columns.length > MOST_RUNS ? products.map((row) => row[j]).join() : column);
    const key = [warp, lane, products].join();
    if (this.drawn === key) return;
    this.drawn = key;
    const cell = (count) => {
      const element = make("td", {}, String(count));
      element.style.setProperty("--share", 100 * count / life.products + "%");
      return element;
    };
    const head = (of, words = text.rows) => runsOf(of).length > 4 ? say(words, {count: of.length, first: of[0], last: of.at(-1)}) : numberRanges(of);
    const heads = shownColumns.length < columns.length ? shownColumns.map((of) => [head(of.map((j) => columns[j]), text.columns), 1])
      : runsOf(columns).map(([first, count]) => [count > 1 ? `${first}–${first + count - 1}` : String(first), count]);
    this.table.replaceChildren(make("table", {class: shownColumns.length > 8 ? "sums many" : "sums"},
      make("thead", {}, make("tr", {}, make("td", {}, text.corner), ...heads.map(([words, count]) =>
        make("th", {scope: "colgroup", colspan: count}, words)))),
      make("tbody", {}, ...shown.map((of) => make("tr", {}, make("th", {scope: "row"}, head(of.map((i) => rows[i]))),
        ...shownColumns.map((columnsOf) => cell(products[of[0]][columnsOf[0]])))))));
  }
}

// The life of a block: its chapters, the time that play takes for each step, and what its sums are
// made of so far.

const PLAY_SECONDS = 60;
const NEW_SECONDS = 1.3;  // for a step that the block has not made before, at most

const Chapter = {begin: "begin", copy: "copy", wait: "wait", multiply: "multiply", epilogue: "epilogue", end: "end"};

// How many numbers of an ascending list are not above the limit.
function countUpTo(ascending, limit) {
  let low = 0, high = ascending.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (ascending[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Life {
  constructor(recording) {
    this.recording = recording;
    this.readOperands();
    this.readTimes();
    this.readChapters();
    this.readSums();
    this.readRoles();
  }

  // What the warps do, if they do different things: "Warps 0–3 copy; warps 4–11 multiply."
  readRoles() {
    const {steps, warps} = this.recording;
    const of = (kind) => new Set(steps.filter(({action}) => action === kind).map(({warp}) => warp));
    const copying = of(ActionKind.box), multiplying = of(ActionKind.multiply);
    const isMixed = multiplying.size === 0 || multiplying.size === warps || copying.size === 0;
    this.roles = isMixed ? "" : say(words.ring.roles, {copying: numberRanges(copying), multiplying: numberRanges(multiplying)});
  }

  // The steps that bring operands to the multiplications, and to which warp. They are loads from
  // shared memory; without it, loads from global memory.
  readOperands() {
    const {steps} = this.recording, C = this.recording.array("C");
    const loads = (shared) => ({kind, site}) => kind === Kind.request && site.direction === Direction.load &&
      site.array.shared === shared && site.array !== C;
    this.hasShared = steps.some(loads(true)) || steps.some(({action}) => action === ActionKind.multiply);
    this.isOperand = loads(this.hasShared);
  }

  chapterOf(step) {
    const {kind, site, action} = step;
    if (kind === Kind.blockBegin) return Chapter.begin;
    if (kind === Kind.blockEnd) return Chapter.end;
    if (kind === Kind.action) {
      if (action === ActionKind.box) return Chapter.copy;
      return [ActionKind.multiply, ActionKind.multiplied, ActionKind.mma].includes(action) ? Chapter.multiply : Chapter.wait;
    }
    if (kind === Kind.barrier || kind === Kind.wait || kind === Kind.warpBarrier) return Chapter.wait;
    if (kind === Kind.commit) return Chapter.copy;
    const writes = this.recording.scene.M === 0 && !site.array.shared && site.direction === Direction.store;
    if (writes || site.array === this.recording.array("C")) return Chapter.epilogue;
    return this.isOperand(step) ? Chapter.multiply : Chapter.copy;
  }

  titleOf(chapter) {
    return (this.recording.scene.M > 0 ? words.chapters : words.chaptersOfAny)[chapter];
  }

  // What most of the time goes to in each of many parts of the recording; equal neighbours are one
  // chapter.
  readChapters() {
    const PARTS = 240;
    const {steps} = this.recording, length = Math.max(1, steps.length / PARTS);
    this.chapters = [];
    for (let part = 0; part * length < steps.length; ++part) {
      const first = Math.floor(part * length), times = new Map();
      for (let at = first; at < Math.max(first + 1, Math.floor((part + 1) * length)); ++at) {
        const name = this.chapterOf(steps[at]);
        times.set(name, (times.get(name) ?? 0) + this.ends[at] - this.beginOf(at));
      }
      const [name] = [...times].reduce((most, one) => one[1] > most[1] ? one : most);
      if (this.chapters.at(-1)?.name !== name) this.chapters.push({at: first, name});
    }
  }

  // The time of each step in seconds: much for what is new, the rest of a minute for all others.
  readTimes() {
    const {steps} = this.recording;
    const isNew = [];
    const seen = new Map();
    for (const step of steps) {
      const times = seen.get(step.operation) ?? 0;
      seen.set(step.operation, times + 1);
      isNew.push(times === 0 || step.action === ActionKind.box || (step.kind === Kind.barrier && times < 3));
    }
    const news = isNew.filter((one) => one).length, others = steps.length - news;
    const ofNew = Math.min(NEW_SECONDS, (others > 0 ? 0.6 : 1) * PLAY_SECONDS / Math.max(news, 1));
    const ofOther = Math.min(0.4, (PLAY_SECONDS - ofNew * news) / Math.max(others, 1));
    this.ends = new Float64Array(steps.length);  // when each step ends
    let time = 0;
    isNew.forEach((one, at) => this.ends[at] = time += one ? ofNew : ofOther);
  }

  get seconds() {
    return this.ends.at(-1);
  }

  beginOf(step) {
    return step === 0 ? 0 : this.ends[step - 1];
  }

  // The step that is shown at a time in seconds.
  stepAt(time) {
    return Math.min(countUpTo(this.ends, time), this.ends.length - 1);
  }

  // Which warp stores each word of C, and of how many products.
  readSums() {
    const {recording} = this, {lanes} = recording;
    const registers = this.registers = new Registers(recording);
    this.warpOf = new Int16Array(recording.array("C")?.words ?? 0).fill(-1);
    registers.sums.forEach((words, thread) => words.forEach((word) => this.warpOf[word] = Math.floor(thread / lanes)));
    this.lines = registers.lines;
    this.isKnown = this.lines.map(([rows], warp) => rows.length > 0 && registers.knows(warp));
    this.multiplications = registers.brought.map(() => []);
    recording.steps.forEach(({action, warp}, at) => {
      if (action === ActionKind.multiply) this.multiplications[warp].push(at);
    });
    const found = registers.brought.flatMap(([rows]) => [...rows.values()].map((steps) => countUpTo(steps, recording.last)));
    this.products = Math.max(...found, 0) || recording.scene.K;  // of each element of C
    this.hasSums = this.warpOf.some((warp) => warp >= 0) && this.products > 0;
  }

  sumsText(warp, step) {
    return say(words.array.sums, {warp, products: this.productsOf(warp, step), of: this.products});
  }

  // How many of its products each element of that warp has at a step. Where the factors cannot be
  // followed, because a kernel before has changed them, multiplications are counted.
  productsOf(warp, step) {
    if (this.isKnown[warp]) {
      const [A, B] = this.registers.brought[warp], [rows, columns] = this.lines[warp];
      const fewest = (lines, of) => lines.reduce((few, line) => Math.min(few, countUpTo(of.get(line), step)), this.products);
      return Math.min(fewest(rows, A), fewest(columns, B));
    }
    const steps = this.multiplications[warp] ?? [];
    return steps.length === 0 ? 0 : Math.floor(this.products * countUpTo(steps, step) / steps.length);
  }
}
