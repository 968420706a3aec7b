// What one block does at one step, in pictures and words.

// An array as a grid of words on a canvas. A row of shared memory is as wide as its banks, whatever
// the array's shape.

const GUTTER = 34;             // pixels to the left of shared memory, for the numbers of its lines
const MAP = 40;                // pixels to the right of a part, for a map of the whole
const MOST_MAPPED = 1 << 18;   // words
const SUM_STEPS = 8;           // shades between no product and all

class ArrayView {
  // `tile` is the block's part of the array, {rows, columns}; null if it is not known.
  // onpoint is called with what is at the pointer, in words; "" if it left.
  constructor(recording, life, array, tile, onpoint) {
    Object.assign(this, {recording, life, array, tile, onpoint});
    this.columns = Math.max(1, array.shared ? Math.min(recording.scene.banks, array.words) : array.columns);
    this.allRows = Math.max(1, Math.ceil(array.words / this.columns));
    this.firstRow = 0;
    this.image = make("canvas");
    this.layer = make("canvas");
    this.canvas = make("canvas", {role: "img", onpointermove: (event) => this.point(event), onpointerleave: () => this.point(null)});
    this.caption = make("figcaption");
    this.element = make("figure", {class: "array"}, this.caption, this.canvas);
    this.name = array.shared && array.name === "dynamic" ? words.array.dynamic : array.name;
    this.captionText = say(array.shared && array.columns === this.columns ? words.array.lines : words.array.size, {...array, name: this.name});
    this.layOut({cell: [2, 2], rows: this.allRows});
  }

  // Cells of [width, height] pixels, and this many rows.
  layOut({cell, rows}) {
    [this.cellWidth, this.cellHeight] = cell;
    this.rows = Math.max(1, Math.min(rows, this.allRows, Math.floor((1 << 20) / this.columns)));
    this.left = this.array.shared ? GUTTER : 0;
    this.hasMap = this.rows < this.allRows && this.array.words <= MOST_MAPPED;
    const width = this.left + Math.ceil(this.columns * this.cellWidth) + (this.hasMap ? MAP : 0);
    const height = Math.ceil(this.rows * this.cellHeight);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    this.drawn = null;  // a canvas of another size is empty, and a narrow one has a short caption
    setText(this.caption, this.captionText.length * 0.62 * parseFloat(getComputedStyle(this.caption).fontSize) > width ? this.name : this.captionText);
    this.firstRow = Math.max(0, Math.min(this.firstRow, this.allRows - this.rows));
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // Where a word is drawn; null if it is not.
  place(word) {
    const row = Math.floor(word / this.columns) - this.firstRow;
    if (row < 0 || row >= this.rows) return null;
    return {x: this.left + word % this.columns * this.cellWidth, y: row * this.cellHeight};
  }

  point(event) {
    const {array, columns} = this;
    const column = event === null ? -1 : Math.floor((event.offsetX - this.left) / this.cellWidth);
    const word = event === null ? -1 : (this.firstRow + Math.floor(event.offsetY / this.cellHeight)) * columns + column;
    this.onpoint(column < 0 || column >= columns || word < 0 || word >= array.words ? "" : this.at(word));
  }

  at(word) {
    const {array, life} = this, text = words.array;
    const part = this.recording.partAt(array, word);
    const place = {name: this.name, row: Math.floor(word / array.columns), column: word % array.columns, word, bank: word % this.recording.scene.banks};
    const warp = !array.shared && array.name === "C" ? life.warpOf[word] : -1;
    const {matrix, word: of} = (this.recording.scene.M > 0 && this.held?.[word]) || {}, {columns} = matrix ?? {};
    const holds = matrix ? say(text.holds, {name: matrix.name, row: Math.floor(of / columns), column: of % columns}) : "";
    return say(text.element, place) + (array.shared ? say(text.bank, place) : "") + holds + (part ? ": " + part.name : "") + (warp >= 0 ? ". " + life.sumsText(warp, this.step) : "");
  }

  draw(replay, lane, colours, isSecret) {
    const step = this.recording.steps[replay.step];
    const isHere = step.kind === Kind.request && step.site.array === this.array;
    Object.assign(this, {step: replay.step, held: replay.held.get(this.array)});
    if (isHere) this.follow(step);
    const isMarked = ({array, steps, begin, end}) => array === this.array && (steps.includes(this.step) || begin <= this.step && this.step < end);
    const races = this.recording.hazards.filter(isMarked).map(({word}) => word);
    const drawn = [replay.changed.get(this.array), this.firstRow, this.canvas.width, this.canvas.height, colours, this.readShades(), races.join()];
    const isSame = this.drawn?.every((value, i) => value === drawn[i]) ?? false;
    if (isSame && !isHere && !this.hasRequest) return;
    if (!isSame) this.drawWords(replay.words.get(this.array), colours);
    this.drawn = drawn;
    this.hasRequest = isHere;
    this.show();
    if (this.tile) this.outlineTile(colours);
    if (isHere) this.drawRequest(step, lane, colours, isSecret);
    for (const word of races) this.fillWord(word, colours.conflict);
  }

  // The shade of each warp's sums, if this is C.
  readShades() {
    if (this.array.name !== "C" || this.array.shared || !this.life.hasSums) return "";
    this.shades = this.life.lines.map((_, warp) =>
      Math.ceil(SUM_STEPS * this.life.productsOf(warp, this.step) / this.life.products));
    return this.shades.join();
  }

  // Of an array that is too large, the rows around the access are shown.
  follow(step) {
    if (this.rows === this.allRows) return;
    const row = Math.floor(step.base / 4 / this.columns);
    if (row >= this.firstRow && row < this.firstRow + this.rows) return;
    this.firstRow = Math.max(0, Math.min(row - 4, this.allRows - this.rows));
  }

  pixels(words, from, rows, colours) {
    const pixels = new ImageData(this.columns, rows);
    const shown = new Uint32Array(pixels.data.buffer);
    for (let i = 0; i < shown.length; ++i) {
      const word = from + i, warp = this.shades ? this.life.warpOf[word] : -1;
      const isSum = warp >= 0 && words[word] === Word.empty;
      shown[i] = isSum ? colours.ofSum[this.shades[warp]] : colours.ofWord[words[word] ?? 0];
    }
    this.image.width = this.columns;
    this.image.height = rows;
    this.image.getContext("2d").putImageData(pixels, 0, 0);
    return this.image;
  }

  // The words on a canvas of their own, which changes less often than what is drawn over it.
  drawWords(words, colours) {
    const {cellWidth, cellHeight, columns, left} = this;
    this.layer.width = this.canvas.width;
    this.layer.height = this.canvas.height;
    const context = this.layer.getContext("2d");
    context.setTransform(this.context.getTransform());
    context.imageSmoothingEnabled = false;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.layer.width, this.layer.height);
    context.drawImage(this.pixels(words, this.firstRow * columns, this.rows, colours), left, 0, columns * cellWidth, this.rows * cellHeight);
    this.hatch(context, words, colours);
    if (this.array.shared) this.drawLines(context, colours);
    if (this.hasMap) this.drawMap(context, words, colours);
  }

  // The lines' numbers, thin lines around words, and a mark where a row of the array begins.
  drawLines(context, colours) {
    const {array, cellWidth, cellHeight, left} = this;
    context.fillStyle = colours.quiet;
    context.font = "11px ui-monospace, monospace";
    context.textAlign = "right";
    const every = 8 * Math.max(1, Math.ceil(14 / (8 * cellHeight)));
    for (let row = this.firstRow; row < this.firstRow + this.rows; ++row) {
      if (row % every === 0) context.fillText(String(row), left - 5, (row - this.firstRow) * cellHeight + Math.max(9, cellHeight / 2 + 4));
    }
    if (cellWidth < 4) return;
    context.strokeStyle = colours.paper;
    context.lineWidth = 1;
    context.beginPath();
    for (let column = 1; column < this.columns; ++column) {
      context.moveTo(left + column * cellWidth - 0.5, 0);
      context.lineTo(left + column * cellWidth - 0.5, this.rows * cellHeight);
    }
    for (let row = 1; row < this.rows && cellHeight >= 4; ++row) {
      context.moveTo(left, row * cellHeight - 0.5);
      context.lineTo(left + this.columns * cellWidth, row * cellHeight - 0.5);
    }
    context.stroke();
    if (array.columns === this.columns) return;
    context.fillStyle = colours.text;
    const from = this.firstRow * this.columns, to = from + this.rows * this.columns;
    for (let word = Math.ceil(from / array.columns) * array.columns; word < Math.min(to, array.words); word += array.columns) {
      const {x, y} = this.place(word);
      context.fillRect(x - 1, y, 2, cellHeight);
    }
  }

  // All of the array at the right, with a frame around the part that is shown.
  drawMap(context, words, colours) {
    const height = this.rows * this.cellHeight, x = this.left + this.columns * this.cellWidth + 8, width = MAP - 8;
    context.imageSmoothingEnabled = true;
    context.drawImage(this.pixels(words, 0, this.allRows, colours), x, 0, width, height);
    context.strokeStyle = colours.text;
    context.lineWidth = 2;
    context.strokeRect(x + 1, height * this.firstRow / this.allRows, width - 2, Math.max(3, height * this.rows / this.allRows));
  }

  // Words that are in flight are also hatched: colour alone carries no meaning.
  hatch(context, words, colours) {
    const {cellWidth, cellHeight, columns} = this;
    context.strokeStyle = colours.text;
    context.lineWidth = 0.5;
    context.beginPath();
    const end = Math.min(words.length, (this.firstRow + this.rows) * columns);
    const stride = Math.max(1, Math.round(4 / cellWidth));
    for (let word = this.firstRow * columns; word < end; ++word) {
      if (words[word] !== Word.coming || (word + Math.floor(word / columns)) % stride !== 0) continue;
      const {x, y} = this.place(word);
      context.moveTo(x, y + cellHeight);
      context.lineTo(x + cellWidth, y);
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
    const {context} = this;
    context.strokeStyle = colours.text;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    const rows = Math.min(this.tile.rows, this.rows), columns = Math.min(this.tile.columns, this.columns);
    context.strokeRect(this.left + 0.5, 0.5, columns * this.cellWidth - 1, rows * this.cellHeight - 1);
    context.setLineDash([]);
  }

  drawRequest(step, lane, colours, isSecret) {
    const {context, cellWidth, cellHeight} = this;
    if (!this.array.shared && !isSecret) this.outlineSectors(step, colours);
    const conflicts = new Set();
    if (!isSecret) this.recording.forEachWord(step, (word) => conflicts.add(word), step.pattern.inConflict);
    this.recording.forEachWord(step, (word) => this.fillWord(word, conflicts.has(word) ? colours.conflict : colours.now));
    context.strokeStyle = colours.paper;
    context.lineWidth = Math.max(1, cellWidth / 6);
    for (const word of conflicts) this.cross(word);
    if (!this.recording.isActive(step, lane)) return;
    context.strokeStyle = colours.lane;
    context.lineWidth = 2;
    this.recording.forEachWord(step, (word) => {
      const place = this.place(word);
      if (place) context.strokeRect(place.x - 1, place.y - 1, cellWidth + 2, cellHeight + 2);
    }, 1 << lane);
  }

  fillWord(word, colour) {
    const place = this.place(word);
    if (!place) return;
    this.context.fillStyle = colour;
    this.context.fillRect(place.x, place.y, this.cellWidth, this.cellHeight);
  }

  cross(word) {
    const place = this.place(word);
    if (!place || this.cellWidth < 4) return;
    const {context, cellWidth, cellHeight} = this;
    context.beginPath();
    context.moveTo(place.x, place.y);
    context.lineTo(place.x + cellWidth, place.y + cellHeight);
    context.moveTo(place.x + cellWidth, place.y);
    context.lineTo(place.x, place.y + cellHeight);
    context.stroke();
  }

  outlineSectors(step, colours) {
    const {context, cellWidth, cellHeight} = this;
    const words = this.recording.scene.sector / 4;
    for (const sector of this.recording.sectors(step)) {
      for (let word = sector * words; word < (sector + 1) * words; ++word) this.fillWord(word, colours.sector);
      const begin = this.place(sector * words);
      if (!begin) continue;
      const columns = Math.min(words, this.columns - sector * words % this.columns);
      context.strokeStyle = colours.now;
      context.lineWidth = 1;
      context.strokeRect(begin.x + 0.5, begin.y + 0.5, columns * cellWidth - 1, Math.max(cellHeight - 1, 1));
    }
  }
}

// The page's colours as the canvas needs them; of the light or the dark page.
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const pixel = (name) => {
    const value = parseInt(colour(name).slice(1), 16);
    return (255 << 24 | (value & 255) << 16 | (value >> 8 & 255) << 8 | value >> 16) >>> 0;
  };
  const part = (value, shift) => value >> shift & 255;
  const [from, to] = [pixel("--empty"), pixel("--sums")];
  // From --empty to --sums.
  const shade = (share) => [24, 16, 8, 0].reduce((sum, shift) =>
    (sum | Math.round(part(from, shift) * (1 - share) + part(to, shift) * share) << shift) >>> 0, 0);
  return {
    text: colour("--fg"), paper: colour("--bg"), quiet: colour("--muted"), now: colour("--now"), sector: colour("--sector"),
    conflict: colour("--conflict"), lane: colour("--lane"),
    ofWord: [pixel("--empty"), pixel("--coming"), pixel("--filled")],
    ofSum: Array.from({length: SUM_STEPS + 1}, (_, i) => shade(i / SUM_STEPS)),
  };
}

// How a step's request is split: into sectors of global memory, or into wavefronts over the banks.

const MOST_ROWS = 33;

class RequestView {
  // If the block isVoting, what a request costs is shown after a guess. Then, and if the reader
  // changes the request, the block's onreveal() is called.
  constructor(recording, block) {
    Object.assign(this, {recording, block});
    const text = words.request;
    this.rows = make("div", {class: "request-rows"});
    this.said = make("span");
    this.change = make("button", {type: "button", onclick: () => this.toggleChange()}, text.change);
    this.verdict = make("p", {class: "verdict", role: "status"});
    const entry = (attributes) => make("input", {type: "number", min: 0, max: 999, ...attributes});
    const guess = entry({"aria-label": text.vote.join(" ")});
    this.question = make("label", {class: "choice"}, "", guess);
    this.vote = make("form", {class: "fields", onsubmit: (event) => {
      event.preventDefault();
      this.reveal(guess.value);
      guess.value = "";
    }}, this.question, make("button", {type: "submit"}, text.show));
    this.stride = entry({oninput: () => this.block.onreveal()});
    this.swizzle = make("input", {type: "checkbox", onchange: () => this.block.onreveal()});
    this.changed = make("span", {role: "status"});
    this.changes = make("form", {class: "fields", hidden: true, onsubmit: (event) => event.preventDefault()},
      make("label", {class: "choice"}, text.stride + " ", this.stride), make("label", {class: "choice"}, this.swizzle, " " + text.swizzle), this.changed);
    this.element = make("div", {}, make("p", {class: "muted"}, this.said, " ", this.change), this.verdict, this.vote, this.changes, this.rows);
  }

  // What the class has guessed, compared with what the request costs.
  reveal(guess) {
    setText(this.verdict, guess === "" ? "" : judged(Number(guess), this.step.pattern.pieces));
    this.isSecret = false;
    this.block.onreveal();
  }

  toggleChange() {
    this.changes.hidden = !this.changes.hidden;
    this.array = null;  // its own rows again
    this.block.onreveal();
  }

  // The request if its rows lay otherwise: it, what a lane accesses, and what each wavefront serves.
  moved(step) {
    const {lanes, scene: {banks}} = this.recording, {array, direction} = step.site, {bytes} = step.pattern;
    const unit = Math.max(1, bytes / 4), pieces = 2 ** Math.floor(Math.log2(Math.min(banks, array.columns) / unit));
    const wordOf = (word) => {
      const row = Math.floor(word / array.columns), column = word % array.columns, first = column - column % (pieces * unit);
      const isWhole = this.swizzle.checked && first + pieces * unit <= array.columns;
      const place = isWhole ? first + (Math.floor((column - first) / unit) ^ row % pieces) * unit + column % unit : column;
      return row * Math.ceil(Number(this.stride.value) / unit) * unit + place;
    };
    const addresses = Array.from({length: lanes}, (_, lane) => {
      const byte = this.recording.address(step, lane);
      return this.recording.isActive(step, lane) ? 4 * wordOf(Math.floor(byte / 4)) + byte % 4 : null;
    });
    const wavefronts = wavefrontsOf({addresses, bytes, warp: {lanes, banks}}, direction === Direction.load);
    return {...step, base: 0, pattern: {...step.pattern, offset: addresses, wavefronts}};
  }

  draw(step, lane) {
    const isRequest = step.kind === Kind.request;
    const shared = isRequest && step.site.array.shared;
    if (this.step !== step) {
      this.step = step;
      this.isSecret = this.block.isVoting && isRequest;
      setText(this.verdict, "");
      setText(this.question.firstChild, words.request.vote[Number(shared)] + " ");
    }
    this.vote.hidden = !this.isSecret;
    this.rows.hidden = this.isSecret;
    setText(this.said, !isRequest ? words.request.none
      : shared ? words.request.banks : say(words.request.sectors, {line: this.recording.scene.line}));
    // A cp.async and an ldmatrix have rules of their own.
    this.change.hidden = !shared || this.isSecret || step.site.direction === Direction.copy || step.pattern.matrices > 0;
    const isChanged = !this.changes.hidden && !this.change.hidden;
    if (isChanged && this.array !== step.site.array) this.stride.value = (this.array = step.site.array).columns;
    if (isChanged) step = this.moved(step);
    setText(this.changed, isChanged ? say(words.request.changed, {wavefronts: step.pattern.wavefronts.length, before: step.pattern.pieces}) : "");
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
    return Array.from({length: count}, (_, i) => {
      const lanes = lanesAt.get(first + i) ?? [];
      const sign = lanes.length === 0 ? "." : laneSign(lanes[0]), title = lanes.length > 1 ? say(words.request.lanes, {lanes: numberRanges(lanes)}) : null;
      return make(lanes.includes(lane) ? "mark" : "span", {title}, lanes.length > 1 ? make("u", {}, sign) : sign);
    });
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

  // A row for each wavefront, with its banks side by side, above the banks of shared memory.
  wavefronts(step, lane) {
    const {banks} = this.recording.scene;
    const head = Array.from({length: banks}, (_, bank) =>
      make("span", {}, bank % 8 === 0 || bank === banks - 1 ? String(bank) : ""));
    const rows = [make("div", {class: "muted wavefront"}, make("span", {class: "turn", title: words.request.bank}, "bank"), ...head)];
    let before = -1;
    step.pattern.wavefronts.forEach(({lanes, group}, i) => {
      const lanesAt = lanesByWord(this.recording, step, (word) => (word % banks + banks) % banks, lanes);
      const title = say(words.request.wavefront, {number: i + 1});
      const row = make("div", {class: group === before ? "wavefront again" : "wavefront", title},
        make("span", {class: "turn"}, String(i + 1)), ...this.signs(lanesAt, 0, banks, lane));
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

// A step in words. Of dynamic shared memory it says what is there.
function stepText(step, recording) {
  const part = step.site?.array?.shared ? recording.partAt(step.site.array, Math.floor(step.base / 4)) : undefined;
  return step.text.replace("{warp}", step.warp).replace("<-", "←").replace(/\bdynamic\b/, part?.name ?? words.array.dynamic);
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
  const {banks} = recording.scene, isLine = array.shared && array.columns === banks;  // its columns are the banks
  return is + say(text.place, {byte, row: Math.floor(word / array.columns)}) +
    (isLine ? "" : say(text.column, {column: word % array.columns})) + (array.shared ? say(text.bank, {bank: word % banks}) : "") + ".";
}

// What is in each place of the ring, and which warps have waited for it.
function ringTable({places, steps}, step) {
  const text = words.ring;
  const latest = new Map(steps.slice(0, step + 1).flatMap(({ring}) => ring).map((change) => [change.place, change]));
  const rows = places.map((name, i) => {
    const {number, isHere, waited} = latest.get(i) ?? {number: -1};
    return [name, ...(number < 0 ? ["–", words.player.empty, "–"] : [String(number), isHere ? text.full : words.player.coming, waited || "–"])];
  });
  const element = table(text.title, text.heads, rows);
  element.className = "ring";
  return element;
}

// "0-3, 8"
function numberRanges(numbers) {
  const runs = runsOf([...numbers].sort((a, b) => a - b));
  return runs.map(([first, count]) => count === 1 ? String(first) : `${first}${count === 2 ? ", " : "–"}${first + count - 1}`).join(", ");
}

// "Warps ended: 0–3; running: 6.", if there are several.
function warpsText(doing) {
  const warps = new Map([...doing].sort().map((what) => [what, []]));
  doing.forEach((what, warp) => warps.get(what).push(warp));
  return doing.length < 2 ? "" : say(words.counters.warps, {doing: [...warps].map(([what, of]) => `${what}: ${numberRanges(of)}`).join("; ")});
}

// The block's requests so far: the sums of `--step`, as a table.
function countersOf({counts, conflicts, barriers, doing}) {
  const text = words.counters;
  const element = table(text.caption, ["", text.requests, text.pieces, text.each], counts.map(({requests, pieces}, i) =>
    [text.names[i], grouped(requests), grouped(pieces), requests > 0 ? (pieces / requests).toFixed(2) : "–"]));
  element.className = "counters";
  return [element, make("p", {}, say(text.conflicts, {conflicts: grouped(conflicts), barriers: grouped(barriers)})), make("p", {}, warpsText(doing))];
}

// Which lane holds which element of the tiles that tensor cores multiply.
function fragmentViews(scene, onchoose) {
  if (scene.fragments.length === 0) return [];
  const tables = scene.fragments.map(([name, rows, cols, packed]) => {
    const lanes = unpack(packed);
    const cell = (row, col) => {
      const lane = lanes[row * cols + col];
      return make("td", {"data-lane": lane, onclick: () => onchoose(lane)}, String(lane));
    };
    return make("table", {class: "fragment"}, make("caption", {}, say(words.array.size, {name, rows, columns: cols})),
      make("tbody", {}, ...Array.from({length: rows}, (_, row) =>
        make("tr", {}, ...Array.from({length: cols}, (_, col) => cell(row, col))))));
  });
  return [section(words.fragments.title, make("p", {class: "about"}, words.fragments.about), make("div", {class: "fragments"}, ...tables))];
}

// One block at one step: its matrices and shared memory, its request, and the counts so far.

class BlockView {
  constructor(onlane, onreveal = () => this.draw(this.lane)) {
    Object.assign(this, {onlane, onreveal, isVoting: false});
    this.matrices = make("div", {class: "arrays"});
    this.shared = make("div", {class: "arrays"});
    this.aboutMatrices = make("p", {class: "about"});
    this.aboutShared = make("p", {class: "about"});
    this.request = make("div", {class: "request"});
    this.actions = make("div", {class: "actions"});
    this.counters = make("div");
    this.fragments = make("div", {class: "fragments-box"});
    this.registers = make("div", {class: "registers-box"});
    this.sides = ["shared", "registers", "fragments"].map((name, i) =>
      make("button", {type: "button", onclick: () => this.turnTo(i)}, words.sides[name]));
    this.sideButtons = make("div", {class: "turn-over", role: "group"}, ...this.sides);
    // In the next frame, because it changes the size of what is observed.
    const observer = new ResizeObserver(() => requestAnimationFrame(() => this.layOut()));
    for (const box of [this.matrices, this.shared]) observer.observe(box);
    this.colours = readColours();
  }

  load(scene) {
    this.recording = new Recording(scene);
    this.replay = new Replay(this.recording);
    this.life = new Life(this.recording);
    this.views = this.recording.usedArrays.map((array) => new ArrayView(this.recording, this.life, array, tileOf(scene, array),
      (text) => this.point(array, text)));
    const columns = {A: scene.K, B: scene.N, C: scene.N};
    this.isProduct = scene.M > 0 && Object.entries(columns).every(([name, count]) =>
      this.recording.usedArrays.some((array) => array.name === name && !array.shared && array.columns === count));
    this.showArrays();
    this.requestView = new RequestView(this.recording, this);
    this.request.replaceChildren(this.requestView.element);
    this.fragments.replaceChildren(...fragmentViews(scene, this.onlane));
    this.registersView = new RegistersView(this.life);
    this.registers.replaceChildren(this.registersView.element);
    this.sides[0].hidden = !this.hasShared;
    this.sides[1].hidden = scene.M === 0;
    this.sides[2].hidden = scene.fragments.length === 0;
    this.sideButtons.hidden = this.sides.filter(({hidden}) => !hidden).length < 2;
    this.sideButtons.parentElement?.classList.toggle("sided", !this.sideButtons.hidden);
    this.turnTo(this.sides[this.side ?? 0].hidden ? this.sides.findIndex(({hidden}) => !hidden) : this.side ?? 0);
    this.layOut();
  }

  // What is at the pointer; else how far C's elements are, and what can be pointed at.
  point(array, text) {
    const warp = Math.max(0, this.recording.steps[Math.max(0, this.replay.step)].warp);
    if (array === null || !array.shared) setText(this.aboutMatrices, text || (this.life.hasSums ? this.life.sumsText(warp, this.replay.step) : ""));
    if (array === null || array.shared) setText(this.aboutShared, text || (this.hasShared ? words.array.help : ""));
  }

  // Shows shared memory, the chosen lane's registers, or which lane holds which element.
  turnTo(side) {
    this.side = side;
    if (this.registers.parentElement) this.shared.parentElement.hidden = side !== 0;
    this.registers.hidden = side !== 1;
    this.actions.hidden = side > 0 && this.hasShared;  // they are about shared memory
    this.fragments.hidden = side !== 2;
    this.sides.forEach((button, i) => button.setAttribute("aria-pressed", i === side));
    this.layOut();
  }

  turnOver() {
    const shown = [0, 1, 2].filter((i) => !this.sides[i].hidden);
    this.turnTo(shown[(shown.indexOf(this.side) + 1) % shown.length]);
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
    const shared = this.views.filter((view) => view.array.shared).sort((a, b) => a.array.name < b.array.name ? -1 : 1).map(({element}) => element);
    this.hasShared = shared.length > 0;
    this.shared.replaceChildren(...(this.hasShared ? shared : [words.player.noShared]));
  }

  // Cells as large as the room allows: of the product for all three matrices together, of shared
  // memory for all banks side by side.
  layOut() {
    if (!this.recording || this.matrices.clientWidth === 0) return;  // nobody sees it
    const {M, N, K} = this.recording.scene;
    const CAPTION = 22;
    const roomOf = (box) => ({width: Math.max(200, box.clientWidth) - 8, height: Math.max(40, box.clientHeight)});
    const room = roomOf(this.matrices);
    const cell = Math.min(8, (room.width - 10) / (K + N), (room.height - 2 * CAPTION) / (K + M));
    // A small array leaves the room that it does not need to the larger ones.
    const fit = (views, {width, height}) => {
      let free = height - views.length * CAPTION, others = views.length;
      for (const view of [...views].sort((a, b) => a.allRows - b.allRows)) {
        const left = view.array.shared ? GUTTER : 0;
        // At first without a map beside it.
        const heightOf = free / others--;
        const isWhole = view.allRows * 4 <= heightOf;
        const most = (width - left - (isWhole ? 0 : MAP)) / view.columns;
        const across = most < 1 ? most : Math.min(18, Math.floor(most));
        const down = isWhole ? Math.max(4, Math.min(across, Math.floor(heightOf / view.allRows))) : Math.min(across, 8);
        view.layOut({cell: [across, down], rows: Math.floor(heightOf / down)});
        free -= view.rows * down;
        if (view.array.shared) this.request.style.setProperty("--bank", across + "px");
      }
    };
    for (const view of this.views.filter((view) => this.isFactor(view))) view.layOut({cell: [cell, cell], rows: view.allRows});
    fit(this.views.filter((view) => !view.array.shared && !this.isFactor(view)), room);
    if (this.shared.clientWidth > 0) fit(this.views.filter((view) => view.array.shared), roomOf(this.shared));
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
    this.requestView.draw(step, lane);
    const {isSecret} = this.requestView;
    this.sentence = stepText(step, recording).replace(isSecret ? /:.*/ : "", "");
    this.reason = isSecret ? "" : step.reason;
    this.point(null, "");
    for (const view of this.views) {
      view.draw(replay, lane, this.colours, isSecret);
      view.canvas.setAttribute("aria-label", `${view.array.name}: ${this.sentence}`);
    }
    const ring = recording.places.length > 0 ? ringTable(recording, replay.step) : "";
    this.actions.replaceChildren(ring, make("div", {class: "muted"}, this.life.roles));
    this.counters.replaceChildren(...countersOf(replay));
    if (!this.registers.hidden) this.registersView.draw(replay.step, Math.max(step.warp >= 0 ? step.warp : this.warp ?? 0, 0), lane);
    for (const cell of this.fragments.querySelectorAll("td")) {
      cell.classList.toggle("chosen", cell.dataset.lane === String(lane));
    }
  }
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
  const sign = (name, words) => make("span", {class: "sign"}, make("i", {class: name, "aria-hidden": "true"}), words);
  return make("p", {class: "legend"}, sign("empty", text.empty), sign("coming", text.coming), sign("filled", text.filled),
    sign("sums", text.sums), sign("now", text.now), sign("lane", text.lanes), sign("conflict", text.conflict), sign("tile", text.tileOfBlock));
}
