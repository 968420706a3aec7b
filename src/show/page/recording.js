// The recorded block, as src/show/page/data.cpp writes it.

const Kind = {blockBegin: 0, request: 1, warpBarrier: 2, commit: 3, wait: 4, barrier: 5, blockEnd: 6, action: 7};
const Direction = {load: 0, store: 1, copy: 2};
const ActionKind = {arrive: 0, wait: 1, box: 2, multiply: 3, multiplied: 4};

// The numbers of a packed array: [d, n] repeats n numbers from d places before.
function unpack(packed) {
  const numbers = [];
  for (const item of packed) {
    if (typeof item === "number") {
      numbers.push(item);
    } else {
      for (let i = 0; i < item[1]; ++i) numbers.push(numbers[numbers.length - item[0]]);
    }
  }
  return numbers;
}

// The lanes' offsets in a request, and the request's cost.
function readPattern([bytes, active, steps, pieces, conflicts, turns, matrices, inConflict], lanes) {
  const offset = new Array(lanes).fill(0);
  const between = unpack(steps);
  let at = 0;
  for (let lane = 0, next = 0; lane < lanes; ++lane) {
    if (!(active >>> lane & 1)) continue;
    at += between[next++];
    offset[lane] = at;
  }
  const wavefronts = [];
  for (let i = 0; i < turns.length; i += 2) wavefronts.push({lanes: turns[i], group: turns[i + 1]});
  return {bytes, active, offset, pieces, conflicts, wavefronts, matrices, inConflict};
}

class Recording {
  static texts = [];  // the sentences and lines of source of all recorded blocks

  constructor(scene) {
    this.scene = scene;
    this.lanes = scene.lanes;
    this.threads = scene.block[0] * scene.block[1] * scene.block[2];
    this.warps = Math.ceil(this.threads / this.lanes);
    this.arrays = scene.arrays.map(([name, bytes, shared, rowWords]) => {
      const words = Math.ceil(bytes / 4);
      // An array without rows has rows as long as the banks.
      const columns = rowWords > 1 ? Math.min(rowWords, words) : Math.min(scene.banks, words);
      return {name, bytes, shared: shared === 1, words, columns, rows: Math.ceil(words / Math.max(columns, 1))};
    });
    this.sites = scene.sites.map(([array, direction, line]) => ({array: this.arrays[array] ?? null, direction, line}));
    this.hazards = scene.hazards.map(([sentence, shown, first, second, found]) =>
      ({sentence, shown, first, second, found}));
    this.readSteps(scene);
    this.readActions(scene);
    this.readRing();
    const used = new Set([...this.sites, ...this.actions].map(({array}) => array));
    for (const {matrix} of this.actions) used.add(matrix);
    this.usedArrays = this.arrays.filter((array) => used.has(array) && array.words > 0);
  }

  readSteps(scene) {
    const {texts} = Recording;
    const patterns = scene.patterns.map((pattern) => readPattern(pattern, this.lanes));
    const [kinds, sites, patternOf, textOf, reasonOf] = scene.operations.map(unpack);
    let text = 0, reason = 0;
    const operations = kinds.map((kind, i) => ({kind, site: this.sites[sites[i]] ?? null, number: sites[i],
      pattern: patterns[patternOf[i]], text: texts[text += textOf[i]], reason: texts[reason += reasonOf[i]]}));
    const warps = unpack(scene.warp), bases = unpack(scene.base);
    const latest = new Map();
    let epoch = 0;
    this.steps = unpack(scene.what).map((operation, i) => {
      const {kind, site, number, pattern, text, reason} = operations[operation];
      const key = warps[i] * 65536 + number;
      const base = (latest.get(key) ?? 0) + bases[i];
      latest.set(key, base);
      epoch += kind === Kind.barrier ? 1 : 0;
      const action = null;  // the kind of its actions
      return {kind, site, pattern, text, reason, operation, warp: warps[i], base, epoch, action};
    });
    this.last = this.steps.length - 1;
  }

  readActions(scene) {
    const columns = scene.actions.map(unpack);
    let step = 0;
    this.actions = (columns[0] ?? []).map((kind, i) => ({
      kind, thread: columns[1][i], before: step += columns[2][i], barrier: columns[3][i],
      value: columns[4][i], matrix: this.arrays[columns[5][i]] ?? null, first: columns[6][i],
      rows: columns[7][i], rowBytes: columns[8][i], array: this.arrays[columns[9][i]] ?? null,
      to: columns[10][i], bytes: columns[11][i], swizzle: columns[12][i],
    }));
    // actionsBefore[s] of them happened before step s, and all of them before the last one's end.
    this.actionsBefore = new Int32Array(this.steps.length);
    let next = 0;
    for (let step = 0; step <= this.last; ++step) {
      for (; next < this.actions.length && this.actions[next].before <= step; ++next) {
        if (this.actions[next].before === step) this.steps[step].action = this.actions[next].kind;
      }
      this.actionsBefore[step] = step === this.last ? this.actions.length : next;
    }
  }

  // The places for tiles that boxes fill: by the mbarrier that counts a place's bytes, the one that
  // says that it is empty; null if it is not known. Whoever fills a place again waits for that one.
  // Both kinds are numbered in the same order.
  readRing() {
    const waited = new Map();
    this.ring = new Map();
    for (const {kind, thread, barrier} of this.actions) {
      if (kind === ActionKind.wait) waited.set(thread, barrier);
      if (kind !== ActionKind.box || Number.isInteger(this.ring.get(barrier))) continue;
      this.ring.set(barrier, this.ring.has(waited.get(thread)) ? null : waited.get(thread) ?? null);
    }
    const [full, empty] = [...this.ring].find(([, of]) => of !== null) ?? [0, null];
    for (const place of this.ring.keys()) this.ring.set(place, empty === null ? null : place + empty - full);
    // The last arrival in each phase of it.
    const last = new Map();
    for (const action of this.actions) {
      if (action.kind === ActionKind.arrive) last.set(action.barrier + " " + action.value, action);
    }
    this.isLastArrival = new Set(last.values());
  }

  // The matrix or array with that name; null if there is none.
  array(name) {
    return this.arrays.find((array) => array.name === name && !array.shared) ?? null;
  }

  // The tile along K of a byte of A, or of lines of parts; -1 if it is of something else.
  tileOf(array, byte) {
    const {BK} = this.scene;
    return BK > 0 && array !== null && /^(A|lines)$/.test(array.name) && !array.shared ? Math.floor(Math.floor(byte / 4) % array.columns / BK) : -1;
  }

  isActive(step, lane) {
    return step.kind === Kind.request && (step.pattern.active >>> lane & 1) === 1;
  }

  address(step, lane) {
    return step.base + step.pattern.offset[lane];
  }

  // Calls visit(word, lane) for each word that the step's lanes access.
  forEachWord(step, visit, lanes = step.pattern.active) {
    for (let lane = 0; lane < this.lanes; ++lane) {
      if (!(lanes >>> lane & 1)) continue;
      const first = this.address(step, lane);
      const last = Math.floor((first + step.pattern.bytes - 1) / 4);
      for (let word = Math.floor(first / 4); word <= last; ++word) visit(word, lane);
    }
  }

  // The numbers of the sectors that the step's words lie in, in ascending order.
  sectors(step) {
    const numbers = new Set();
    this.forEachWord(step, (word) => numbers.add(Math.floor(word * 4 / this.scene.sector)));
    return [...numbers].sort((a, b) => a - b);
  }

  // The thread (x, y, z) of a lane; null if the block has no such thread.
  thread(warp, lane) {
    const number = warp * this.lanes + lane;
    if (number >= this.threads) return null;
    const [x, y] = this.scene.block;
    return {x: number % x, y: Math.floor(number / x) % y, z: Math.floor(number / x / y)};
  }
}

// The block's state at a step: the contents of its words, and the counts so far.

const Word = {empty: 0, coming: 1, filled: 2};

class Replay {
  static changes = 0;

  constructor(recording) {
    this.recording = recording;
    this.restart();
  }

  restart() {
    this.step = -1;
    this.actionsDone = 0;
    this.words = new Map(this.recording.arrays.map((array) => [array, new Uint8Array(array.words)]));
    // The last change of an array's words, as a number that never repeats.
    this.changed = new Map(this.recording.arrays.map((array) => [array, ++Replay.changes]));
    // By memory and direction, as --step counts: a copy loads from global memory and stores to
    // shared memory.
    this.counts = {
      gmem: {loads: {requests: 0, pieces: 0, words: 0}, stores: {requests: 0, pieces: 0, words: 0}},
      smem: {loads: {requests: 0, pieces: 0, words: 0}, stores: {requests: 0, pieces: 0, words: 0}},
    };
    this.conflicts = 0;
    this.barriers = 0;
    this.copies = new Map();  // by thread: its cp.async copies in flight
    this.boxes = [];          // of the copy engine, in flight
    this.boxBytes = 0;        // that were requested from it
    this.completed = new Map();  // by mbarrier: its phases that some thread has waited for
    this.ring = new Map([...this.recording.ring].map(([full, empty]) => [full, {tile: -1, state: "empty", empty}]));
  }

  // Goes to that step, forward from where it is or again from the start.
  goTo(step) {
    if (step < this.step) this.restart();
    while (this.step < step) this.advance();
    return this;
  }

  advance() {
    const recording = this.recording;
    const step = recording.steps[++this.step];
    for (; this.actionsDone < recording.actionsBefore[this.step]; ++this.actionsDone) {
      this.act(recording.actions[this.actionsDone]);
    }
    if (step.kind === Kind.barrier) ++this.barriers;
    if (step.kind === Kind.commit) this.forEachThread(step, (copies) => ++copies.group);
    if (step.kind === Kind.wait) this.forEachThread(step, (copies, lane) => this.wait(copies, recording.address(step, lane)));
    if (step.kind === Kind.request) this.request(step);
  }

  request(step) {
    const {array, direction} = step.site;
    const stores = direction === Direction.copy ? array.shared : direction === Direction.store;
    const count = this.counts[array.shared ? "smem" : "gmem"][stores ? "stores" : "loads"];
    count.requests += 1;
    count.pieces += step.pattern.pieces;
    this.conflicts += step.pattern.conflicts;
    const words = this.words.get(array);
    const isCopy = array.shared && direction === Direction.copy;
    // A load from shared memory does not change it.
    const isSeen = !array.shared || direction === Direction.store;
    if (isCopy || isSeen) this.changed.set(array, ++Replay.changes);
    this.recording.forEachWord(step, (word, lane) => {
      count.words += 1;
      if (word < 0 || word >= words.length) return;
      if (isSeen) words[word] = Word.filled;
      if (!isCopy) return;
      words[word] = Word.coming;
      const copies = this.copiesOf(step.warp, lane);
      copies.coming.push({array, word, group: copies.group});
    });
  }

  copiesOf(warp, lane) {
    const thread = warp * this.recording.lanes + lane;
    if (!this.copies.has(thread)) this.copies.set(thread, {group: 0, coming: []});
    return this.copies.get(thread);
  }

  forEachThread(step, visit) {
    for (let lane = 0; lane < this.recording.lanes; ++lane) {
      if (step.pattern.active >>> lane & 1) visit(this.copiesOf(step.warp, lane), lane);
    }
  }

  // All copies arrive but those of the last `except` groups.
  wait(copies, except) {
    copies.coming = copies.coming.filter(({array, word, group}) => {
      if (group + except >= copies.group) return true;
      this.words.get(array)[word] = Word.filled;
      this.changed.set(array, ++Replay.changes);
      return false;
    });
  }

  act(action) {
    if (action.kind === ActionKind.arrive) {
      const place = [...this.ring.values()].find(({empty}) => empty === action.barrier);
      if (place && this.recording.isLastArrival.has(action)) Object.assign(place, {tile: -1, state: "empty"});
    } else if (action.kind === ActionKind.box) {
      this.boxBytes += action.bytes;
      this.boxes.push(action);
      this.fill(action.array, action.to, action.bytes, Word.coming);
      const place = this.ring.get(action.barrier), tile = this.recording.tileOf(action.matrix, action.first);
      place.state = "coming";
      if (tile >= 0) place.tile = tile;
      for (let row = 0; action.matrix !== null && row < action.rows; ++row) {
        const first = action.first + row * action.matrix.columns * 4;
        this.fill(action.matrix, first, action.rowBytes, Word.filled);
      }
    } else if (action.kind === ActionKind.wait) {
      this.completed.set(action.barrier, Math.max(this.completed.get(action.barrier) ?? 0, action.value + 1));
      if (this.ring.has(action.barrier)) this.ring.get(action.barrier).state = "full";
      this.boxes = this.boxes.filter((box) => {
        if (box.barrier !== action.barrier || box.value > action.value) return true;
        this.fill(box.array, box.to, box.bytes, Word.filled);
        return false;
      });
    }
  }

  fill(array, first, bytes, state) {
    if (array === null) return;
    this.words.get(array).fill(state, Math.floor(first / 4), Math.ceil((first + bytes) / 4));
    this.changed.set(array, ++Replay.changes);
  }

  bytesInFlight() {
    let bytes = 0;
    for (const {coming} of this.copies.values()) bytes += 4 * coming.length;
    for (const box of this.boxes) bytes += box.bytes;
    return bytes;
  }
}
