// What the block has asked for so far.

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
