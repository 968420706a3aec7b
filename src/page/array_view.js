// An array as a grid of words on a canvas.

const PART_GAP = 6;            // pixels between the columns of a wrapped array
const MOST_WORDS = 1 << 20;  // of a larger array, the rows around the access are drawn

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

  // Cells of that many pixels; what is higher than `most` pixels goes on beside it.
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

  // Of an array that is too large, the rows around the access.
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

  // Words that are coming are hatched, too: colour alone carries no meaning.
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
