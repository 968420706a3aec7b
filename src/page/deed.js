// A step in words.

function deedText(recording, step) {
  const text = words.deed;
  const who = {warp: step.warp, lanes: recording.activeLanes(step)};
  switch (step.kind) {
    case Kind.blockBegin:
      return say(text.begin, {threads: recording.threads, warps: recording.warps});
    case Kind.blockEnd:
      return text.end;
    case Kind.barrier:
      return text.barrier;
    case Kind.warpBarrier:
      return say(text.warpBarrier, who);
    case Kind.commit:
      return say(text.commit, who);
    case Kind.wait:
      return say(step.base === 0 ? text.waitAll : text.waitSome, {...who, groups: step.base});
    default:
      return requestText(step, who);
  }
}

function requestText(step, who) {
  const text = words.deed, {pattern, site} = step;
  const told = site.direction === Direction.copy ? (site.array.shared ? text.copyTo : text.copyFrom)
    : pattern.matrices > 0 ? text.matrices : site.direction === Direction.load ? text.load : text.store;
  const cost = say(site.array.shared ? text.wavefronts : text.sectors, pattern);
  const waste = pattern.conflicts + pattern.uncoalesced === 0 ? "" : " ← " + (site.array.shared ? text.conflict : text.uncoalesced);
  return say(told, {...who, bytes: pattern.bytes, matrices: pattern.matrices, array: site.array.name, cost: cost + waste}) +
    (site.atomic ? " " + text.atomic : "");
}

// The chosen lane's part in the step.
function laneText(recording, step, lane, warp) {
  const text = words.deed;
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
