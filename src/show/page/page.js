// Assembles the page, and keeps its address up to date: #stage=7&step=123&lane=5.

function readAddress() {
  const values = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const number = (name) => /^\d{1,9}$/.test(values[name] ?? "") ? Number(values[name]) : undefined;
  return {view: values.view, stage: number("stage"), step: number("step"), lane: number("lane"), warp: number("warp"),
    left: number("left"), right: number("right"), share: number("share")};
}

function writeAddress(values) {
  const hash = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined)).toString();
  try {
    history.replaceState(null, "", "#" + hash);
  } catch {
    // The browser may refuse for a page from a disk, or too many calls in a short time.
  }
}

class Page {
  constructor(data) {
    this.data = data;
    this.scenes = data.scenes;
    Recording.texts = data.texts;
    Recording.matrixWords = unpack(data.matrixWords);
    const text = words.page;
    const header = make("header", {}, make("h1", {}, data.title),
      ...(data.verdict ? [make("p", {class: "verdict"}, data.verdict)] : []),
      ...data.complaints.map((complaint) => make("p", {class: "complaint"}, complaint)));
    this.views = [];
    if (this.scenes.length > 0) this.views.push(["player", (root, address) => this.startPlayer(root, address)]);
    if (data.predictions.length > 0) this.views.push(["predict", (root, address) => this.ask(root, address)]);
    if (this.scenes.length > 1 && this.scenes[0].stage >= 0) this.views.push(["compare", (root, address) => this.startCompare(root, address)]);
    if (data.calculators) this.views.push(["calculators", (root) => startCalculators(root, data.calculators)]);
    const charts = document.getElementById("charts").content;
    if (charts.childElementCount > 0) this.views.push(["charts", (root) => root.append(charts)]);
    this.roots = {};
    this.tabs = {};
    for (const [name] of this.views) {
      this.roots[name] = make("section", {id: "view-" + name, class: "view", role: "tabpanel", "aria-labelledby": "tab-" + name, hidden: true});
      this.tabs[name] = make("button", {id: "tab-" + name, type: "button", role: "tab", "aria-controls": "view-" + name,
        onclick: () => this.show(name), onkeydown: (event) => this.pressTab(event, name)}, text[name]);
    }
    const tabs = make("nav", {role: "tablist", "aria-label": text.views, hidden: this.views.length < 2}, ...Object.values(this.tabs));
    const button = (label, sign, act) => make("button", {type: "button", title: label, "aria-label": label, onclick: act}, sign);
    header.append(tabs, make("div", {class: "switches"}, button(text.light, "◐", () => this.toggleDark()), button(text.large, "A⁺", () => this.toggleProjector())));
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.onchange = () => this.toggleDark(system.matches);
    this.toggleDark(system.matches);
    document.getElementById("page").replaceChildren(make("a", {class: "skip", href: "#main"}, text.skip), header,
      make("main", {id: "main", tabindex: -1}, ...Object.values(this.roots)), this.footer = make("footer", {class: "muted"}, text.made));
    document.addEventListener("keydown", (event) => this.press(event));
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  // The place that the address names.
  follow() {
    const address = readAddress();
    if (location.hash === "#main") return;
    this.started = {};
    const known = this.views.some(([name]) => name === address.view);
    if (this.views.length > 0) this.show(known ? address.view : this.views[0][0], address);
  }

  show(view, address = readAddress()) {
    this.player?.stop();
    this.compare?.race.stop();
    this.view = view;
    this.footer.hidden = view === "player";  // its help has it
    document.body.classList.toggle("fills", view === "player" && document.getElementById("pictures").childElementCount === 0);
    for (const [name, start] of this.views) {
      const isShown = name === view;
      this.roots[name].hidden = !isShown;
      this.tabs[name].setAttribute("aria-selected", isShown);
      this.tabs[name].tabIndex = isShown ? 0 : -1;
      if (!isShown || this.started[name]) continue;
      this.started[name] = name !== "predict";  // the player may be at another stage the next time
      start(this.roots[name], address);
    }
    this.tell();
  }

  // The number of that stage's scene; undefined if there is none.
  sceneOf(stage) {
    const at = this.scenes.findIndex((scene) => scene.stage === stage);
    return at < 0 ? undefined : at;
  }

  startPlayer(root, {stage, step, lane, warp}) {
    const scene = this.sceneOf(stage) ?? 0;
    if (this.player) {
      this.player.block.side = 0;
      return this.player.load(scene, step ?? 0, lane ?? 0, warp ?? -1);
    }
    const box = make("div");
    root.replaceChildren(box);
    this.player = new Player(box, this.scenes, (number) => this.data.predictions[number]?.shown ?? [], {scene, step, lane, warp}, (player) => this.tell(player));
  }

  startCompare(root, {left, right, share}) {
    this.compare = new Compare(root, this.scenes, this.data.predictions, {sides: [this.sceneOf(left), this.sceneOf(right)], share}, () => this.tell());
  }

  // The questions about a stage: that of the address, else the player's.
  ask(root, {stage}) {
    const number = this.sceneOf(stage) ?? this.player?.number ?? 0;
    const names = this.scenes.map(({name}) => name);
    const box = make("div");
    const show = (chosen) => {
      this.asked = chosen;
      new Predict(box, names[chosen], this.data.predictions[chosen]);
      this.tell();
    };
    root.replaceChildren(choice(words.player.stage, names, number, show).element, box);
    show(number);
  }

  // The address names what is shown; it is not updated while the block plays.
  tell(player = this.player) {
    if (this.view === "player" && player) {
      if (player.playing !== null) return;
      const {stage} = this.scenes[player.number];
      writeAddress({stage: stage >= 0 ? stage : undefined, step: player.now, lane: player.lane, warp: player.oneWarp ? player.warp : undefined});
    } else if (this.view === "predict") {
      writeAddress({view: this.view, stage: this.scenes[this.asked ?? 0].stage});
    } else if (this.view === "compare" && this.compare) {
      const [left, right] = this.compare.sides.map(({scene}) => this.scenes[scene].stage);
      writeAddress({view: this.view, left, right, share: this.compare.at});
    } else {
      writeAddress({view: this.view});
    }
  }

  pressTab(event, name) {
    const names = this.views.map(([name]) => name);
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (by === undefined) return;
    const next = names[(names.indexOf(name) + by + names.length) % names.length];
    this.show(next);
    this.tabs[next].focus();
    event.preventDefault();
    event.stopPropagation();
  }

  // The blocks that are drawn.
  get blocks() {
    return [this.player, ...this.compare?.sides ?? []].filter(Boolean).map(({block}) => block);
  }

  toggleDark(on) {
    document.documentElement.classList.toggle("dark", on);
    for (const block of this.blocks) block.recolour();
  }

  // Large type, for a room.
  toggleProjector() {
    document.documentElement.classList.toggle("projector");
    for (const block of this.blocks) block.layOut();
    this.player?.showLine();
  }

  // Keys of the view, unless the reader types text, or moves a control with them.
  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const {target} = event;
    const moves = ["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key);
    if (target.matches("input:not([type=range]), textarea, select") || (target.matches("button, summary, a") && event.key === " ")) return;
    if (target.matches("input[type=range], pre") && moves) return;
    if (event.key === "p") return this.toggleProjector();
    if (event.key === "d") return this.toggleDark();
    const view = {player: this.player, compare: this.compare}[this.view];
    if (view?.press(event.key)) event.preventDefault();
  }
}

const page = new Page(JSON.parse(document.getElementById("data").textContent));
