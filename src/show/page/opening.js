// A kernel's idea as a picture, drawn from the recorded block: which part of C belongs to the block,
// to a warp and to a lane, and the way of the elements from global memory to their products.

const TILE_PIXELS = 150, WHOLE_PIXELS = 84;

// [first, count] of each run of neighbours in an ascending list.
function runsOf(numbers) {
  const runs = [];
  for (const number of numbers) {
    if (runs.length > 0 && runs.at(-1)[0] + runs.at(-1)[1] === number) ++runs.at(-1)[1];
    else runs.push([number, 1]);
  }
  return runs;
}

// A to the left of C and B above it, `scale` pixels per element. `marks` are {name, rows, columns}:
// runs of C's, with the rows of A and the columns of B that they need.
function productPicture(scale, rows, columns, depth, marks) {
  const GAP = 8, deep = Math.min(TILE_PIXELS / 4, Math.max(5, depth * scale)), left = deep + GAP, top = deep + GAP;
  const width = left + columns * scale, height = top + rows * scale;
  const rect = (name, x, y, w, h) => makeSvg("rect", {class: name, x, y, width: Math.max(w, 1.5), height: Math.max(h, 1.5)});
  const svg = makeSvg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": true},
    rect("ground", left, top, columns * scale, rows * scale), rect("ground", 0, top, deep, rows * scale),
    rect("ground", left, 0, columns * scale, deep));
  for (const {name, rows: of, columns: across} of marks) {
    for (const [y, tall] of of) svg.append(rect(name, 0, top + y * scale, deep, tall * scale));
    for (const [x, wide] of across) svg.append(rect(name, left + x * scale, 0, wide * scale, deep));
    for (const [y, tall] of of) for (const [x, wide] of across) svg.append(rect(name, left + x * scale, top + y * scale, wide * scale, tall * scale));
  }
  return svg;
}

// What brings the elements on, place by place; null where nothing does.
function wayOf(life) {
  const text = words.opening, {recording, registers} = life, {actions, steps, scene} = recording;
  const has = (kind) => actions.some((action) => action.kind === kind);
  const requests = steps.filter(({kind, site}) => kind === Kind.request && site.array !== recording.array("C"));
  const bytes = (of) => [...new Set(of.map(({pattern}) => pattern.bytes))].sort((a, b) => a - b).join(text.and);
  const from = (shared, direction) => requests.filter(({site}) => site.array.shared === shared && site.direction === direction);
  const loads = from(false, Direction.load), copies = from(true, Direction.copy), reads = from(true, Direction.load);
  const plain = reads.filter(({pattern}) => pattern.matrices === 0);
  const places = new Set([...registers.copies.values()].map(({place}) => place)).size ||
    new Set(actions.filter(({kind}) => kind === ActionKind.box).map(({barrier}) => barrier)).size || 1;
  const isWarpgroup = has(ActionKind.multiply), sums = Math.max(...registers.sums.map(({length}) => length));
  const warp = life.lines.findIndex(([rows]) => rows.length > 0);
  const [rows, columns] = registers.linesOf(warp, 0);
  return [
    text.gmem,
    has(ActionKind.box) ? text.box : copies.length > 0 ? say(text.async, {bytes: bytes(copies)}) : say(text.load, {bytes: bytes(loads)}),
    life.hasShared ? say(text.smem, {places}) : null,
    !life.hasShared ? null : [plain.length > 0 ? say(text.read, {bytes: bytes(plain)}) : "", reads.length > plain.length ? text.ldmatrix : "",
      isWarpgroup ? text.inShared[Math.min(plain.length, 1)] : ""].filter(Boolean).join("; "),
    say(text.registers, {sums, rows: rows.length, columns: columns.length}),
    isWarpgroup ? text.wgmma : scene.fragments.length > 0 ? text.mma : text.ffma,
    life.roles || null,
  ];
}

const ways = new WeakMap();  // of scenes

function wayOfScene(scene, life = null) {
  if (!ways.has(scene)) ways.set(scene, wayOf(life ?? new Life(new Recording(scene))));
  return ways.get(scene);
}

// The picture of a scene, with what the stage before has otherwise. Null if it is no product, or its tile is not known.
function openingPicture(scene, life, before) {
  const text = words.opening, {M, N, K, BM, BN, BK} = scene, {registers} = life;
  const warp = life.lines.findLastIndex(([rows]) => rows.length > 0);
  if (!M || !BM || !BN || warp < 0) return null;
  const [allRows, allColumns] = ["rows", "columns"].map((_, i) => [...new Set(life.lines.flatMap((lines) => lines[i]))].sort((a, b) => a - b));
  const mark = (name, [rows, columns]) => ({name, rows: runsOf(rows), columns: runsOf(columns)});
  const shift = ([rows, columns]) => [rows.map((row) => row - allRows[0]), columns.map((column) => column - allColumns[0])];
  const lines = registers.linesOf(warp, 9 % scene.lanes);
  const panel = (picture, ...captions) => make("figure", {}, picture, ...captions.map((caption) => make("figcaption", {}, caption)));
  const sign = (name, words) => make("span", {class: "sign"}, make("i", {class: name, "aria-hidden": true}), words);
  const way = wayOfScene(scene, life), old = before && before.M > 0 ? wayOfScene(before) : way;
  return make("div", {class: "idea-picture"},
    panel(productPicture(WHOLE_PIXELS / Math.max(M, N), M, N, K, [mark("block", [allRows, allColumns])]),
      say(text.whole, scene), sign("block", text.ofBlock)),
    panel(productPicture(TILE_PIXELS / Math.max(BM, BN), BM, BN, BK || K, [mark("warp", shift(life.lines[warp])), mark("lane", shift(lines))]),
      say(text.tile, scene), sign("warp", say(text.ofWarp, {warp})), sign("lane", text.ofLane)),
    make("ol", {class: "way"}, ...way.map((words, i) => words && make("li", {class: words !== old[i] ? "new" : null}, words))));
}
