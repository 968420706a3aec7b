// What the block has done up to a step: what its words hold, and what it has asked for.

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
    // When the words of an array changed last: a number that never comes again.
    this.changed = new Map(this.recording.arrays.map((array) => [array, ++Replay.changes]));
    // By memory and direction, as --step counts: a copy loads from global memory and stores to
    // shared memory.
    this.counts = {
      gmem: {loads: {requests: 0, pieces: 0, words: 0}, stores: {requests: 0, pieces: 0, words: 0}},
      smem: {loads: {requests: 0, pieces: 0, words: 0}, stores: {requests: 0, pieces: 0, words: 0}},
    };
    this.conflicts = 0;
    this.barriers = 0;
    this.copies = new Map();  // by thread: the cp.async that it has begun and not waited for
    this.boxes = [];          // of the copy engine, on their way
    this.boxBytes = 0;        // that it has been asked for
    this.phases = new Map();  // by thread and mbarrier: the phase at which it arrived last
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
    const arrival = action.thread * 4096 + action.barrier;
    if (action.kind === ActionKind.arrive) {
      this.phases.set(arrival, action.value);
    } else if (action.kind === ActionKind.box) {
      // A box belongs to the phase at which its thread arrived last.
      this.boxBytes += action.bytes;
      this.boxes.push({...action, phase: this.phases.get(arrival) ?? 0});
      this.fill(action.array, action.to, action.bytes, Word.coming);
      for (let row = 0; action.matrix !== null && row < action.rows; ++row) {
        const first = action.first + row * action.matrix.columns * 4;
        this.fill(action.matrix, first, action.rowBytes, Word.filled);
      }
    } else if (action.kind === ActionKind.wait) {
      this.boxes = this.boxes.filter((box) => {
        if (box.barrier !== action.barrier || box.phase > action.value) return true;
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
