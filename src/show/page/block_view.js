// What one block does at one step, in pictures and words.

// An array as a grid of words on a canvas.

const PART_GAP = 6;            // pixels between the columns of a wrapped array
const MOST_WORDS = 1 << 20;  // for a larger array, the rows around the access are drawn

class ArrayView {
  // `tile` is the block's part of the array, {rows, columns}; null if it is not known.
  constructor(recording, array, tile) {
    this.recording = recording;
    this.array = array;
    this.tile = tile;
    this.rows = Math.max(1, Math.min(array.rows, Math.floor(MOST_WORDS / Math.max(array.columns, 1))));
    this.firstRow = 0;
    this.image = make("canvas", {width: Math.max(array.columns, 1), height: this.rows});
    this.layer = make("canvas");
    this.canvas = make("canvas", {role: "img"});
    this.caption = make("figcaption");
    this.element = make("figure", {class: "array"}, this.caption, this.canvas);
    setText(this.caption, `${array.name}  ${array.rows} x ${array.columns}`);
    this.layOut({cell: 2, most: 400});
  }

  // Cells of that many pixels; rows beyond a height of `most` pixels continue beside the others.
  layOut({cell, most}) {
    this.cell = cell;
    this.rowsOfPart = Math.max(1, Math.min(this.rows, Math.floor(most / cell)));
    const parts = Math.ceil(this.rows / this.rowsOfPart);
    this.partWidth = Math.ceil(this.array.columns * cell) + PART_GAP;
    const width = parts * this.partWidth - PART_GAP, height = Math.ceil(this.rowsOfPart * cell);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    this.drawn = null;  // a canvas of another size is empty
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // Where a word is drawn; null if it is not.
  place(word) {
    const row = Math.floor(word / this.array.columns) - this.firstRow;
    if (row < 0 || row >= this.rows) return null;
    return {
      x: Math.floor(row / this.rowsOfPart) * this.partWidth + word % this.array.columns * this.cell,
      y: row % this.rowsOfPart * this.cell,
    };
  }

  draw(replay, lane, colours) {
    const step = this.recording.steps[replay.step];
    const isHere = step.kind === Kind.request && step.site.array === this.array;
    if (isHere) this.follow(step);
    const drawn = [replay.changed.get(this.array), this.firstRow, this.cell, this.canvas.width, colours];
    const isSame = this.drawn?.every((value, i) => value === drawn[i]) ?? false;
    if (isSame && !isHere && !this.hasRequest) return;
    if (!isSame) this.drawWords(replay.words.get(this.array), colours);
    this.drawn = drawn;
    this.hasRequest = isHere;
    this.show();
    if (this.tile) this.outlineTile(colours);
    if (!isHere) return;
    this.drawRequest(step, lane, colours);
    this.drawHazards(replay.step, colours);
  }

  // For an array that is too large, the rows around the access.
  follow(step) {
    if (this.rows === this.array.rows) return;
    const row = Math.floor(step.base / 4 / this.array.columns);
    if (row >= this.firstRow && row < this.firstRow + this.rows) return;
    this.firstRow = Math.max(0, Math.min(row - 4, this.array.rows - this.rows));
  }

  // The words on a canvas of their own, which changes less often than what is drawn over it.
  drawWords(words, colours) {
    const {columns} = this.array, {cell} = this;
    const pixels = new ImageData(columns, this.rows);
    const shown = new Uint32Array(pixels.data.buffer);
    const from = this.firstRow * columns;
    for (let i = 0; i < shown.length; ++i) shown[i] = colours.ofWord[words[from + i] ?? 0];
    this.image.getContext("2d").putImageData(pixels, 0, 0);
    this.layer.width = this.canvas.width;
    this.layer.height = this.canvas.height;
    const context = this.layer.getContext("2d");
    context.setTransform(this.context.getTransform());
    context.imageSmoothingEnabled = false;
    for (let row = 0; row < this.rows; row += this.rowsOfPart) {
      const rows = Math.min(this.rowsOfPart, this.rows - row);
      context.drawImage(this.image, 0, row, columns, rows,
        row / this.rowsOfPart * this.partWidth, 0, columns * cell, rows * cell);
    }
    this.hatch(context, words, colours);
  }

  // Words that are in flight are also hatched: colour alone carries no meaning.
  hatch(context, words, colours) {
    const {cell} = this, {columns} = this.array;
    context.strokeStyle = colours.text;
    context.lineWidth = 0.5;
    context.beginPath();
    const end = Math.min(words.length, (this.firstRow + this.rows) * columns);
    const stride = Math.max(1, Math.round(4 / cell));
    for (let word = this.firstRow * columns; word < end; ++word) {
      if (words[word] !== Word.coming || (word + Math.floor(word / columns)) % stride !== 0) continue;
      const {x, y} = this.place(word);
      context.moveTo(x, y + cell);
      context.lineTo(x + cell, y);
    }
    context.stroke();
  }

  show() {
    const {context} = this;
    context.save();
    context.resetTransform();
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.layer, 0, 0);
    context.restore();
  }

  outlineTile(colours) {
    const {context, cell} = this;
    context.strokeStyle = colours.text;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    const rows = Math.min(this.tile.rows, this.rows), columns = Math.min(this.tile.columns, this.array.columns);
    context.strokeRect(0.5, 0.5, columns * cell - 1, rows * cell - 1);
    context.setLineDash([]);
  }

  drawRequest(step, lane, colours) {
    const {context, cell} = this;
    if (!this.array.shared) this.outlineSectors(step, colours);
    const conflicts = this.array.shared ? conflictingWords(this.recording, step) : new Set();
    this.recording.forEachWord(step, (word) => this.fillWord(word, conflicts.has(word) ? colours.conflict : colours.now));
    context.strokeStyle = colours.paper;
    context.lineWidth = Math.max(1, cell / 6);
    for (const word of conflicts) this.cross(word);
    if (!this.recording.isActive(step, lane)) return;
    context.strokeStyle = colours.lane;
    context.lineWidth = 2;
    this.recording.forEachWord(step, (word) => {
      const place = this.place(word);
      if (place) context.strokeRect(place.x - 1, place.y - 1, cell + 2, cell + 2);
    }, 1 << lane);
  }

  fillWord(word, colour) {
    const place = this.place(word);
    if (!place) return;
    this.context.fillStyle = colour;
    this.context.fillRect(place.x, place.y, this.cell, this.cell);
  }

  cross(word) {
    const place = this.place(word);
    if (!place || this.cell < 4) return;
    const {context, cell} = this;
    context.beginPath();
    context.moveTo(place.x, place.y);
    context.lineTo(place.x + cell, place.y + cell);
    context.moveTo(place.x + cell, place.y);
    context.lineTo(place.x, place.y + cell);
    context.stroke();
  }

  outlineSectors(step, colours) {
    const {context, cell} = this;
    const words = this.recording.scene.sector / 4;
    for (const sector of this.recording.sectors(step)) {
      for (let word = sector * words; word < (sector + 1) * words; ++word) this.fillWord(word, colours.sector);
      const begin = this.place(sector * words);
      if (!begin) continue;
      const columns = Math.min(words, this.array.columns - sector * words % this.array.columns);
      context.strokeStyle = colours.now;
      context.lineWidth = 1;
      context.strokeRect(begin.x + 0.5, begin.y + 0.5, columns * cell - 1, Math.max(cell - 1, 1));
    }
  }

  drawHazards(now, colours) {
    const step = this.recording.steps[now];
    for (const hazard of this.recording.hazards) {
      if (now !== hazard.first && now !== hazard.second && now !== hazard.found) continue;
      this.recording.forEachWord(step, (word) => this.fillWord(word, colours.conflict));
    }
  }
}

// The words of a request that share a bank with another word that is served with them.
function conflictingWords(recording, step) {
  const banks = new Map();
  if (step.pattern.conflicts === 0) return new Set();
  for (const {lanes, group} of step.pattern.wavefronts) {
    recording.forEachWord(step, (word) => {
      const bank = group * recording.scene.banks + word % recording.scene.banks;
      if (!banks.has(bank)) banks.set(bank, new Set());
      banks.get(bank).add(word);
    }, lanes);
  }
  return new Set([...banks.values()].filter((words) => words.size > 1).flatMap((words) => [...words]));
}

// The page's colours as the canvas needs them; of the light or the dark page.
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const pixel = (name) => {
    const value = parseInt(colour(name).slice(1), 16);
    return (255 << 24 | (value & 255) << 16 | (value >> 8 & 255) << 8 | value >> 16) >>> 0;
  };
  return {
    text: colour("--fg"), paper: colour("--bg"), now: colour("--now"), sector: colour("--sector"),
    conflict: colour("--conflict"), lane: colour("--lane"),
    ofWord: [pixel("--empty"), pixel("--coming"), pixel("--filled")],
  };
}

// How a step's request is split: into sectors of global memory, or into wavefronts over the banks.

const MOST_ROWS = 33;

class RequestView {
  constructor(recording) {
    this.recording = recording;
    this.rows = make("div", {class: "request-rows"});
    this.about = make("p", {class: "muted"});
    this.element = make("div", {class: "request"}, this.about, this.rows,
      make("p", {class: "muted"}, words.request.sign));
  }

  draw(step, lane) {
    const isRequest = step.kind === Kind.request;
    const shared = isRequest && step.site.array.shared;
    setText(this.about, !isRequest ? words.request.none
      : shared ? words.request.banks : say(words.request.sectors, {line: this.recording.scene.line}));
    const rows = !isRequest ? [] : shared ? this.wavefronts(step, lane) : this.lines(step, lane);
    const left = rows.length - MOST_ROWS;
    if (left > 0) {
      rows.length = MOST_ROWS;
      rows.push(make("div", {}, say(words.request.more, {rows: left})));
    }
    this.rows.replaceChildren(...rows);
  }

  // The sign of each of `count` words from `first` on, the chosen lane's marked.
  signs(lanesAt, first, count, lane) {
    const parts = [];
    for (let word = first; word < first + count; ++word) {
      const lanes = lanesAt.get(word) ?? [];
      const sign = lanes.length === 0 ? "." : lanes.length === 1 ? laneSign(lanes[0]) : "*";
      parts.push(lanes.includes(lane) ? make("mark", {}, sign) : sign);
    }
    return parts;
  }

  // A row for each line of global memory, with the sectors that are fetched.
  lines(step, lane) {
    const {sector, line} = this.recording.scene;
    const lanesAt = lanesByWord(this.recording, step, (word) => word);
    const fetched = this.recording.sectors(step);
    const perLine = line / sector;
    const numbers = [...new Set(fetched.map((number) => Math.floor(number / perLine)))];
    return numbers.map((number) => {
      const sectors = [];
      for (let s = number * perLine; s < (number + 1) * perLine; ++s) {
        const isFetched = fetched.includes(s);
        sectors.push(make("span", {class: isFetched ? "sector fetched" : "sector"},
          ...(isFetched ? this.signs(lanesAt, s * sector / 4, sector / 4, lane) : [" ".repeat(sector / 4)])));
      }
      return make("div", {}, make("span", {class: "place"}, say(words.request.from, {byte: grouped(number * line)})), ...sectors);
    });
  }

  // A row for each wavefront, with its banks side by side.
  wavefronts(step, lane) {
    const {banks} = this.recording.scene;
    let head = "";
    for (let bank = 0; bank < banks; bank += 8) head += String(bank).padEnd(8);
    const rows = [make("div", {class: "muted"}, make("span", {class: "place"}, words.request.bank), head)];
    let before = -1;
    step.pattern.wavefronts.forEach(({lanes, group}, i) => {
      const lanesAt = lanesByWord(this.recording, step, (word) => (word % banks + banks) % banks, lanes);
      const row = make("div", {class: group === before ? "wavefront again" : "wavefront"},
        make("span", {class: "place"}, say(words.request.wavefront, {number: i + 1})),
        ...this.signs(lanesAt, 0, banks, lane));
      row.style.setProperty("--turn", i);
      rows.push(row);
      before = group;
    });
    return rows;
  }
}

// Which lanes access each word, or what `placeOf` makes of the word.
function lanesByWord(recording, step, placeOf, lanes = step.pattern.active) {
  const found = new Map();
  recording.forEachWord(step, (word, lane) => {
    const place = placeOf(word);
    if (!found.has(place)) found.set(place, []);
    if (!found.get(place).includes(lane)) found.get(place).push(lane);
  }, lanes);
  return found;
}

// A step in words.
function stepText(step) {
  return step.text.replace("{warp}", step.warp);
}

// The chosen lane's part in the step.
function laneText(recording, step, lane, warp) {
  const text = words.step;
  const thread = recording.thread(step.warp >= 0 ? step.warp : Math.max(warp, 0), lane);
  if (thread === null) return say(text.noThread, {lane});
  const is = say(text.lane, {lane, ...thread});
  if (step.kind !== Kind.request) return is + ".";
  if (!recording.isActive(step, lane)) return is + text.idle;
  const byte = recording.address(step, lane), word = Math.floor(byte / 4), {array} = step.site;
  return is + say(text.place, {byte, row: Math.floor(word / array.columns), column: word % array.columns}) +
    (array.shared ? say(text.bank, {bank: word % recording.scene.banks}) : "") + ".";
}

// What happened at barriers, in the copy engine and in the tensor cores since the step before.
function actionLines(recording, replay) {
  const MOST = 8;
  const from = replay.step === 0 ? 0 : recording.actionsBefore[replay.step - 1];
  const actions = recording.actions.slice(from, recording.actionsBefore[replay.step]);
  const lines = [];
  if (actions.length > 0) {
    lines.push(make("h4", {}, words.action.title));
    const names = ["arrive", "wait", "box", "multiply", "multiplied"];
    for (const action of actions.slice(0, MOST)) {
      lines.push(make("div", {}, say(words.action[names[action.kind]],
        {...action, matrix: action.matrix?.name ?? "0", array: action.array?.name ?? ""})));
    }
    if (actions.length > MOST) lines.push(make("div", {}, say(words.action.more, {count: actions.length - MOST})));
  }
  const bytes = replay.bytesInFlight();
  if (bytes > 0) lines.push(make("div", {class: "in-flight"}, say(words.action.inFlight, {bytes: grouped(bytes)})));
  return lines;
}

// The block's requests so far.

// The sums of `--step`, as a table.
class CountersView {
  constructor() {
    const text = words.counters;
    this.rows = [["gmem", "loads", text.gmemLoads], ["gmem", "stores", text.gmemStores],
      ["smem", "loads", text.smemLoads], ["smem", "stores", text.smemStores]].map(([memory, direction, name]) => {
      const cells = Array.from({length: 3}, () => make("td"));
      return {memory, direction, cells, row: make("tr", {}, make("th", {scope: "row"}, name), ...cells)};
    });
    const head = [text.requests, text.pieces, text.each].map((words) => make("th", {scope: "col"}, words));
    this.below = make("p");
    this.element = make("div", {}, make("table", {class: "counters"}, make("caption", {class: "unseen"}, text.caption),
      make("thead", {}, make("tr", {}, make("td"), ...head)), make("tbody", {}, ...this.rows.map(({row}) => row))), this.below);
  }

  draw(replay) {
    for (const {memory, direction, cells} of this.rows) {
      const {requests, pieces} = replay.counts[memory][direction];
      setText(cells[0], grouped(requests));
      setText(cells[1], grouped(pieces));
      setText(cells[2], requests > 0 ? (pieces / requests).toFixed(2) : "–");
    }
    setText(this.below, say(words.counters.conflicts, {conflicts: grouped(replay.conflicts), barriers: grouped(replay.barriers)}));
  }
}

// The tiles that tensor cores multiply.

// Which lane holds which element of the tiles that tensor cores multiply.
function fragmentViews(scene, onchoose) {
  if (scene.fragments.length === 0) return [];
  const tables = scene.fragments.map(([name, rows, cols, packed]) => {
    const lanes = unpack(packed);
    const cell = (row, col) => {
      const lane = lanes[row * cols + col];
      return make("td", {"data-lane": lane, onclick: () => onchoose(lane)}, String(lane));
    };
    return make("table", {class: "fragment"}, make("caption", {}, say(words.fragments[name], {rows, cols})),
      make("tbody", {}, ...Array.from({length: rows}, (_, row) =>
        make("tr", {}, ...Array.from({length: cols}, (_, col) => cell(row, col))))));
  });
  return [section(words.fragments.title, make("p", {class: "muted"}, words.fragments.about), make("div", {class: "fragments"}, ...tables))];
}

// One block at one step: its matrices and shared memory, its request, and the counts so far.

class BlockView {
  constructor(onlane) {
    this.onlane = onlane;
    this.matrices = make("div", {class: "arrays"});
    this.shared = make("div", {class: "arrays"});
    this.request = make("div");
    this.actions = make("div", {class: "actions"});
    this.counters = make("div");
    this.fragments = make("div");
    // In the next frame, because it changes the size of what is observed.
    const observer = new ResizeObserver(() => requestAnimationFrame(() => this.layOut()));
    for (const box of [this.matrices, this.shared]) observer.observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    this.colours = readColours();
  }

  load(scene) {
    this.recording = new Recording(scene);
    this.replay = new Replay(this.recording);
    this.views = this.recording.usedArrays.map((array) => new ArrayView(this.recording, array, tileOf(scene, array)));
    const columns = {A: scene.K, B: scene.N, C: scene.N};
    this.isProduct = scene.M > 0 && Object.entries(columns).every(([name, count]) =>
      this.recording.usedArrays.some((array) => array.name === name && !array.shared && array.columns === count));
    this.showArrays();
    this.requestView = new RequestView(this.recording);
    this.request.replaceChildren(this.requestView.element);
    this.countersView = new CountersView();
    this.counters.replaceChildren(this.countersView.element);
    this.fragments.replaceChildren(...fragmentViews(scene, this.onlane));
    this.layOut();
  }

  isFactor(view) {
    return this.isProduct && !view.array.shared && ["A", "B", "C"].includes(view.array.name);
  }

  // A to the left of C and B above it, as they are multiplied; what is shared below them.
  showArrays() {
    const of = (name) => this.views.find((view) => view.array.name === name && !view.array.shared);
    const product = this.isProduct
      ? [make("div", {class: "product"}, make("span"), of("B").element, of("A").element, of("C").element)] : [];
    const others = this.views.filter((view) => !view.array.shared && !this.isFactor(view));
    this.matrices.replaceChildren(...product, ...others.map(({element}) => element));
    const shared = this.views.filter((view) => view.array.shared).map(({element}) => element);
    this.shared.replaceChildren(...(shared.length > 0 ? shared : [words.player.noShared]));
  }

  // Cells as large as the room allows: of the product for all three matrices together.
  layOut() {
    if (!this.recording || this.matrices.clientWidth === 0) return;  // nobody sees it
    const {M, N, K} = this.recording.scene;
    const widthOf = (box) => Math.max(240, box.clientWidth) - 8;
    const ofProduct = Math.min(6, (widthOf(this.matrices) - 10) / (K + N), Math.max(430, innerHeight * 0.55) / (K + M));
    for (const view of this.views) {
      const width = widthOf(view.array.shared ? this.shared : this.matrices);
      if (this.isFactor(view)) view.layOut({cell: ofProduct, most: 4000});
      else view.layOut({cell: cellOf(view, width), most: 240});
    }
    if (this.replay.step >= 0) this.draw(this.lane);
  }

  recolour() {
    this.colours = readColours();
    if (this.recording) this.draw(this.lane);
  }

  goTo(step, lane) {
    this.replay.goTo(Math.max(0, Math.min(step, this.recording.last)));
    this.draw(lane);
  }

  draw(lane) {
    this.lane = lane;
    const {recording, replay} = this;
    const step = recording.steps[replay.step];
    this.sentence = stepText(step);
    for (const view of this.views) {
      view.draw(replay, lane, this.colours);
      view.canvas.setAttribute("aria-label", `${view.array.name}: ${this.sentence}`);
    }
    this.requestView.draw(step, lane);
    this.actions.replaceChildren(...actionLines(recording, replay));
    this.countersView.draw(replay);
    for (const cell of this.fragments.querySelectorAll("td")) {
      cell.classList.toggle("chosen", cell.dataset.lane === String(lane));
    }
  }
}

// For an array whose rows may continue beside the others, so that it fits into about 160 rows of
// pixels.
function cellOf(view, width) {
  const words = Math.max(view.rows * view.array.columns, 1);
  const cell = Math.min(width / view.array.columns, Math.sqrt(width * 160 / words), 10);
  return cell > 2 ? Math.floor(cell) : Math.max(cell, 1);
}

// The part of a matrix that the first block of a stage computes or reads.
function tileOf({BM, BN, M, N, K}, array) {
  if (BM === 0 || array.shared) return null;
  const parts = {A: {rows: Math.min(BM, M), columns: K}, B: {rows: K, columns: Math.min(BN, N)},
    C: {rows: Math.min(BM, M), columns: Math.min(BN, N)}};
  return parts[array.name] ?? null;
}

function legend() {
  const text = words.player;
  const sign = (name, words) => make("span", {class: "sign"}, make("i", {class: name, "aria-hidden": true}), words);
  return make("p", {class: "legend"}, sign("empty", text.empty), sign("coming", text.coming), sign("filled", text.filled),
    sign("now", text.now), sign("lane", text.lanes), sign("conflict", text.conflict), sign("tile", text.tileOfBlock));
}
