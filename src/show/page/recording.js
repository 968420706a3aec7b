// The recorded block, as src/show/page/data.cpp writes it.

const Kind = {blockBegin: 0, request: 1, warpBarrier: 2, commit: 3, wait: 4, barrier: 5, blockEnd: 6, action: 7};
const Direction = {load: 0, store: 1, copy: 2};
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
  const wavefronts = [], numbers = unpack(turns);
  for (let i = 0; i < numbers.length; i += 2) wavefronts.push({lanes: numbers[i], group: numbers[i + 1]});
  return {bytes, allBytes: bytes * between.length, active, offset, pieces, conflicts, wavefronts, matrices, inConflict};
}

// The columns of a table, of which each is a number in Recording.texts; of an empty table no numbers.
function unpackColumns(columns) {
  return columns.length > 0 ? columns.map((number) => unpack(Recording.texts[number])) : Array(8).fill([]);
}

class Recording {
  static texts = [];  // what recorded blocks have in common: sentences, lines of source, columns of numbers
  static matrixWords = [];  // model::matrix_word, of each lane and matrix

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
    this.hazards = scene.hazards.map(([sentence, shown, first, second, found, begin, end, array, word]) =>
      ({sentence, shown, found, steps: [first, second, found], begin, end, array: this.arrays[array] ?? null, word}));
    this.readSteps(scene);
    this.readChanges(scene.changes);
    this.readRing(scene.ring);
    this.readWarps(scene.warps);
    this.readTiles();
    this.usedArrays = this.arrays.filter(({words}) => words > 0);
  }

  readSteps(scene) {
    const {texts} = Recording;
    const patterns = scene.patterns.map((number) => readPattern(texts[number], this.lanes));
    const [kinds, sites, patternOf, textOf, reasonOf, actions] = unpackColumns(scene.operations);
    let text = 0, reason = 0;
    const operations = kinds.map((kind, i) => ({kind, site: this.sites[sites[i]] ?? null, number: sites[i], action: actions[i],
      pattern: patterns[patternOf[i]], text: texts[text += textOf[i]], reason: texts[reason += reasonOf[i]]}));
    const [what, warps, bases] = unpackColumns(scene.steps);
    const latest = new Map();
    let epoch = 0;
    this.steps = what.map((operation, i) => {
      const {number, ...what} = operations[operation];
      const key = warps[i] * 65536 + number;
      const base = (latest.get(key) ?? 0) + bases[i];
      latest.set(key, base);
      epoch += what.kind === Kind.barrier ? 1 : 0;
      return {...what, operation, warp: warps[i], base, epoch, changes: [], ring: [], doing: []};
    });
    this.last = this.steps.length - 1;
  }

  // What happens to words of arrays: their new state, and whose words they hold from now on.
  readChanges([numbers, columns]) {
    const patterns = numbers.map((number) => Recording.texts[number]);
    const shapes = patterns.map(([array, state, matrix, runs]) =>
      ({array: this.arrays[array], state, isNew: matrix >= -1, matrix: this.arrays[matrix] ?? null, runs: unpackColumns(runs)}));
    const [distances, shapeOf, firsts, helds] = unpackColumns(columns), latest = new Map();
    let at = 0;
    distances.forEach((distance, i) => {
      const step = this.steps[at += distance], [array, , matrix] = patterns[shapeOf[i]], key = [step.warp, array, matrix].join();
      const before = latest.get(key) ?? {first: 0, held: 0};
      const change = {...shapes[shapeOf[i]], first: before.first + firsts[i], held: before.held + helds[i]};
      latest.set(key, change);
      step.changes.push(change);
    });
  }

  // What happens to the places for tiles, and which parts of arrays they are.
  readRing([places, columns, parts]) {
    const [distances, placeOf, numbers, isHere, waited] = unpackColumns(columns);
    let at = 0;
    this.places = places;
    distances.forEach((distance, i) =>
      this.steps[at += distance].ring.push({place: placeOf[i], number: numbers[i], isHere: isHere[i], waited: Recording.texts[waited[i]]}));
    this.parts = parts.map(([array, first, end, name]) => ({array: this.arrays[array], first, end, name}));
  }

  // What warps do from a step on.
  readWarps(columns) {
    const [distances, warps, doing] = unpackColumns(columns);
    let at = 0;
    distances.forEach((distance, i) => this.steps[at += distance].doing.push([warps[i], Recording.texts[doing[i]]]));
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
    const isLater = ({array, first}) => {
      const tile = BK > 0 && !array.shared && /^(A|lines)$/.test(array.name) ? Math.floor(first % array.columns / BK) : -1;
      return tile > latest && (latest = tile, true);
    };
    this.tileStarts = new Set([...this.steps.keys()].filter((at) => this.steps[at].changes.some(isLater)));
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

const Word = {empty: 0, coming: 1, filled: 2};  // step::WordChange::State

class Replay {
  static changes = 0;

  constructor(recording) {
    this.recording = recording;
    this.restart();
  }

  restart() {
    this.step = -1;
    this.words = new Map(this.recording.arrays.map((array) => [array, new Uint8Array(array.words)]));
    this.held = new Map(this.recording.arrays.map((array) => [array, new Array(array.shared ? array.words : 0).fill(null)]));
    // The last change of an array's words, as a number that never repeats.
    this.changed = new Map(this.recording.arrays.map((array) => [array, ++Replay.changes]));
    // Loads and stores of global memory, then of shared memory. A copy loads and stores.
    this.counts = Array.from({length: 4}, () => ({requests: 0, pieces: 0, bytes: 0}));
    this.conflicts = 0;
    this.barriers = 0;
    this.doing = [];    // what each warp does
    this.boxBytes = 0;  // that were requested from the copy engine
  }

  // Goes to that step, forward from where it is or again from the start.
  goTo(step) {
    if (step < this.step) this.restart();
    while (this.step < step) this.advance();
    return this;
  }

  advance() {
    const step = this.recording.steps[++this.step];
    for (const change of step.changes) this.change(change, step.action === ActionKind.box);
    for (const [warp, doing] of step.doing) this.doing[warp] = doing;
    if (step.kind === Kind.barrier) ++this.barriers;
    if (step.kind === Kind.request) this.count(step);
  }

  count({site: {array, direction}, pattern}) {
    const stores = direction === Direction.copy ? array.shared : direction === Direction.store;
    const count = this.counts[2 * array.shared + stores];
    count.requests += 1;
    count.pieces += pattern.pieces;
    count.bytes += pattern.allBytes;
    this.conflicts += pattern.conflicts;
  }

  change({array, state, isNew, matrix, runs: [distances, counts, helds, apart], first, held}, isBox) {
    const words = this.words.get(array), holds = this.held.get(array);
    this.changed.set(array, ++Replay.changes);
    distances.forEach((distance, run) => {
      first += distance;
      held += helds[run];
      words.fill(state, first, first + counts[run]);
      if (isBox && array.shared) this.boxBytes += 4 * counts[run];
      for (let i = 0; isNew && i < counts[run]; ++i) holds[first + i] = matrix && {matrix, word: held + i * apart[run]};
    });
  }
}
