// One block at one step: its matrices and shared memory, its request, and what it has asked for.

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
    this.deed = deedText(recording, step);
    for (const view of this.views) {
      view.draw(replay, lane, this.colours);
      view.canvas.setAttribute("aria-label", `${view.array.name}: ${this.deed}`);
    }
    this.requestView.draw(step, lane);
    this.actions.replaceChildren(...actionLines(recording, replay));
    this.countersView.draw(replay);
    for (const cell of this.fragments.querySelectorAll("td")) {
      cell.classList.toggle("chosen", cell.dataset.lane === String(lane));
    }
  }
}

// Of an array that may go on beside itself, so that some 160 rows of pixels hold it.
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
