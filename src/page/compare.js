// Two blocks of the same product side by side, at the same share of their steps.

const SHARES = 1000;  // places of the slider

class Compare {
  constructor(root, scenes, start, onmove) {
    this.scenes = scenes;
    this.onmove = onmove;
    const text = words.compare;
    this.slider = make("input", {type: "range", min: 0, max: SHARES, class: "run", "aria-label": text.share,
      oninput: () => this.goTo(Number(this.slider.value))});
    this.share = make("p", {class: "where"});
    this.finding = make("p", {class: "deed", "aria-live": "polite"});
    this.sides = [text.left, text.right].map((label, i) => this.side(label, start.sides?.[i] ?? Math.min(i * 2, scenes.length - 1)));
    root.replaceChildren(make("p", {class: "muted"}, say(text.about, scenes[0])), this.slider, this.share, this.finding,
      make("div", {class: "sides"}, ...this.sides.map(({element}) => element)));
    for (const side of this.sides) side.block.load(scenes[side.scene]);
    this.goTo(start.share ?? SHARES / 2);
  }

  side(label, scene) {
    const block = new BlockView(() => {});
    const side = {scene, block, deed: make("p", {class: "muted"})};
    const names = this.scenes.map(({name}) => name);
    const chosen = choice(label, names, scene, (number) => {
      side.scene = number;
      block.load(this.scenes[number]);
      this.goTo(this.at);
    });
    side.element = make("div", {}, chosen.element, side.deed, make("div", {class: "side"},
      make("div", {}, section(words.player.matrices, block.matrices), section(words.player.request, block.request, block.actions)),
      make("div", {}, section(words.player.counters, block.counters), section(words.player.shared, block.shared))));
    return side;
  }

  goTo(at) {
    this.at = Math.max(0, Math.min(at, SHARES));
    this.slider.value = this.at;
    setText(this.share, say(words.compare.percent, {percent: (100 * this.at / SHARES).toFixed(1)}));
    const floats = this.sides.map(({block, deed}) => {
      block.goTo(Math.round(block.recording.last * this.at / SHARES), 0);
      setText(deed, block.deed);
      return floatsPerResult(block).toFixed(2);
    });
    const isWhole = this.sides.every(({block}) => block.recording.scene.complete);
    setText(this.finding, say(words.compare.finding, {left: floats[0], right: floats[1]}) +
      (isWhole ? "" : " " + words.compare.incomplete));
    this.onmove(this);
  }

  // Returns whether the key means something.
  press(key) {
    const by = {ArrowRight: 1, n: 1, ArrowLeft: -1, p: -1, PageUp: 50, PageDown: -50}[key];
    if (by === undefined) return false;
    this.goTo(this.at + by);
    return true;
  }
}

// What the block has loaded from global memory, with what the copy engine has fetched for it.
function floatsPerResult({recording, replay}) {
  const {BM, BN, M, N} = recording.scene;
  const results = Math.min(BM, M) * Math.min(BN, N);
  return (replay.counts.gmem.loads.words + replay.boxBytes / 4) / results;
}
