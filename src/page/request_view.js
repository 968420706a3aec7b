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
