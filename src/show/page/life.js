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
    const {actions, lanes, warps} = this.recording;
    const of = (kind) => new Set(actions.filter((action) => action.kind === kind).map(({thread}) => Math.floor(thread / lanes)));
    const copying = of(ActionKind.box), multiplying = of(ActionKind.multiply);
    const isMixed = multiplying.size === 0 || multiplying.size === warps || copying.size === 0;
    this.roles = isMixed ? "" : say(words.ring.roles, {copying: numberRanges(copying), multiplying: numberRanges(multiplying)});
  }

  // The steps that bring operands to the multiplications, and to which warp. They are loads from
  // shared memory; without it, loads from global memory.
  readOperands() {
    const {steps, actions, array} = this.recording, C = this.recording.array("C");
    const loads = (shared) => ({kind, site}) => kind === Kind.request && site.direction === Direction.load &&
      site.array.shared === shared && site.array !== C;
    const hasShared = steps.some(loads(true));
    this.isOperand = loads(hasShared);
    this.hasShared = hasShared || actions.some(({kind}) => kind === ActionKind.multiply);
  }

  chapterOf(step) {
    const {kind, site} = step;
    if (kind === Kind.blockBegin) return Chapter.begin;
    if (kind === Kind.blockEnd) return Chapter.end;
    if (kind === Kind.action) {
      if (step.action === ActionKind.box) return Chapter.copy;
      return step.action === ActionKind.multiply || step.action === ActionKind.multiplied ? Chapter.multiply : Chapter.wait;
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
    this.lines = registers.brought.map((_, warp) => registers.linesOf(warp));
    this.isKnown = this.lines.map(([rows], warp) => rows.length > 0 && registers.knows(warp));
    this.multiplications = registers.brought.map(() => []);
    for (const {kind, thread, before} of recording.actions) {
      if (kind === ActionKind.multiply) this.multiplications[Math.floor(thread / lanes)].push(before);
    }
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
