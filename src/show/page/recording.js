// The recorded block, as src/show/page/data.cpp writes it.

const Kind = {blockBegin: 0, request: 1, warpBarrier: 2, commit: 3, wait: 4, barrier: 5, blockEnd: 6, action: 7};
const Direction = {load: 0, store: 1, copy: 2};
const ChangeKind = {comes: 0, waits: 1, here: 2, empty: 3};
const ActionKind = {arrive: 0, wait: 1, box: 2, multiply: 3, multiplied: 4, mma: 6};

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
    this.readRing(scene.ring);
    this.readTiles();
    this.usedArrays = this.arrays.filter(({words}) => words > 0);
  }

  readSteps(scene) {
    const {texts} = Recording;
    const patterns = scene.patterns.map((pattern) => readPattern(pattern, this.lanes));
    const [kinds, sites, patternOf, textOf, reasonOf] = scene.operations.map(unpack);
    let text = 0, reason = 0;
    const operations = kinds.map((kind, i) => ({kind, site: this.sites[sites[i]] ?? null, number: sites[i],
      pattern: patterns[patternOf[i]], text: texts[text += textOf[i]], reason: texts[reason += reasonOf[i]]}));
    const [what, warps, bases] = scene.steps.map(unpack);
    const latest = new Map();
    let epoch = 0;
    this.steps = what.map((operation, i) => {
      const {kind, site, number, pattern, text, reason} = operations[operation];
      const key = warps[i] * 65536 + number;
      const base = (latest.get(key) ?? 0) + bases[i];
      latest.set(key, base);
      epoch += kind === Kind.barrier ? 1 : 0;
      return {kind, site, pattern, text, reason, operation, warp: warps[i], base, epoch, actions: [], changes: []};
    });
    this.last = this.steps.length - 1;
  }

  readActions(scene) {
    const columns = scene.actions.map(unpack);
    let step = 0;
    this.actions = (columns[0] ?? []).map((kind, i) => ({
      kind, thread: columns[1][i], before: step += columns[2][i], matrix: this.arrays[columns[3][i]] ?? null,
      first: columns[4][i], rows: columns[5][i], rowBytes: columns[6][i], array: this.arrays[columns[7][i]] ?? null,
      to: columns[8][i], bytes: columns[9][i], swizzle: columns[10][i],
    }));
    for (const action of this.actions) this.steps[Math.min(action.before, this.last)].actions.push(action);
  }

  // What happens to the places for tiles, and which parts of arrays they are.
  readRing([places, columns, parts]) {
    const [kinds, distances, warps, placeOf, numbers] = columns.length > 0 ? columns.map(unpack) : [[]];
    let at = 0;
    this.places = places;
    kinds.forEach((kind, i) => this.steps[at += distances[i]].changes.push({kind, warp: warps[i], place: placeOf[i], number: numbers[i]}));
    this.parts = parts.map(([array, first, end, name]) => ({array: this.arrays[array], first, end, name}));
  }

  // The part of the ring in which a word of an array is; undefined if it is in none.
  partAt(array, word) {
    return this.parts.find((part) => part.array === array && part.first <= word && word < part.end);
  }

  // The matrix or array with that name; null if there is none.
  array(name) {
    return this.arrays.find((array) => array.name === name && !array.shared) ?? null;
  }

  // The steps in which a tile along K is first loaded, from A or from lines of parts.
  readTiles() {
    const {BK} = this.scene;
    let latest = -1;
    const isLater = (array, byte) => {
      const isFactor = BK > 0 && array !== null && !array.shared && /^(A|lines)$/.test(array.name);
      const tile = isFactor ? Math.floor(Math.floor(byte / 4) % array.columns / BK) : -1;
      return tile > latest && (latest = tile, true);
    };
    this.tileStarts = new Set([...this.steps.keys()].filter((at) => {
      const {kind, site, base, actions} = this.steps[at];
      return kind === Kind.request && isLater(site.array, base) || actions.some(({matrix, first}) => isLater(matrix, first));
    }));
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
    this.words = new Map(this.recording.arrays.map((array) => [array, new Uint8Array(array.words)]));
    // The last change of an array's words, as a number that never repeats.
    this.changed = new Map(this.recording.arrays.map((array) => [array, ++Replay.changes]));
    // By memory and direction, as --step counts: a copy loads from global memory and stores to
    // shared memory.
    const none = () => ({requests: 0, pieces: 0, words: 0});
    this.counts = {gmem: {loads: none(), stores: none()}, smem: {loads: none(), stores: none()}};
    this.conflicts = 0;
    this.barriers = 0;
    this.ofWarp = new Map();  // what each warp copies asynchronously: its phase or group
    this.coming = [];         // what is copied and not here
    this.boxBytes = 0;        // that were requested from the copy engine
  }

  // Goes to that step, forward from where it is or again from the start.
  goTo(step) {
    if (step < this.step) this.restart();
    while (this.step < step) this.advance();
    return this;
  }

  advance() {
    const step = this.recording.steps[++this.step];
    for (const change of step.changes) this.change(change);
    for (const action of step.actions) this.act(action, step);
    if (step.kind === Kind.barrier) ++this.barriers;
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
    if (isSeen) this.changed.set(array, ++Replay.changes);
    this.recording.forEachWord(step, (word) => {
      count.words += 1;
      if (word < 0 || word >= words.length) return;
      if (isSeen) words[word] = Word.filled;
      if (isCopy) this.copy(step.warp, array, 4 * word, 4);
    });
  }

  copy(warp, array, first, bytes) {
    this.fill(array, first, bytes, Word.coming);
    this.coming.push({array, first, bytes, ...this.ofWarp.get(warp)});
  }

  // What a warp copies belongs to what comes last; all of it is here at the same time.
  change({kind, warp, place, number}) {
    if (kind === ChangeKind.comes) this.ofWarp.set(warp, {place, number});
    if (kind !== ChangeKind.here) return;
    this.coming = this.coming.filter((one) => {
      const isHere = one.place === place && one.number === number;
      if (isHere) this.fill(one.array, one.first, one.bytes, Word.filled);
      return !isHere;
    });
  }

  act(action, {warp}) {
    if (action.kind !== ActionKind.box) return;
    this.boxBytes += action.bytes;
    this.copy(warp, action.array, action.to, action.bytes);
    for (let row = 0; action.matrix !== null && row < action.rows; ++row) {
      const first = action.first + row * action.matrix.columns * 4;
      this.fill(action.matrix, first, action.rowBytes, Word.filled);
    }
  }

  fill(array, first, bytes, state) {
    if (array === null) return;
    this.words.get(array).fill(state, Math.floor(first / 4), Math.ceil((first + bytes) / 4));
    this.changed.set(array, ++Replay.changes);
  }
}
