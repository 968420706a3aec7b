// The rules of the model in JavaScript, so that the page answers at once. Nothing here depends on
// the page. Each function names the C++ function that it must equal;
// src/show/page/calculators_tests.cpp compares them on random settings.
//
// A GPU is as src/show/page/data.cpp writes it. Sizes are in bytes.

const MAX_THREADS_PER_BLOCK = 1024;  // for every compute capability since 2.0
const MAX_REGISTERS_PER_THREAD = 255;  // the most that an instruction can name
const WORD_BYTES = 4;  // the width of a bank

function roundUp(value, step) {
  return Math.ceil(value / step) * step;
}

// model::occupancy (src/model/gpus.cpp): how many blocks of a kernel an SM holds at once. A
// limit is Infinity if the kernel does not use that resource. `limiter` is "threads", "blocks",
// "shared memory" or "registers".
function occupancy(gpu, {threads, registers, smemBytes}) {
  const warpsPerBlock = Math.ceil(Math.max(threads, 1) / gpu.lanes);
  const warpsPerSm = Math.floor(gpu.threadsPerSm / gpu.lanes);

  // A warp takes part in the work of its SM with all of its lanes, used or not.
  const byThreads = threads < 1 || threads > MAX_THREADS_PER_BLOCK ?
      0 : Math.floor(warpsPerSm / warpsPerBlock);

  let bySmem = Infinity;
  if (smemBytes > gpu.smemBytesPerBlock) {
    bySmem = 0;
  } else if (smemBytes > 0) {
    const taken = roundUp(smemBytes + gpu.smemReservedBytesPerBlock, gpu.smemGranularityBytes);
    bySmem = Math.floor(gpu.smemBytesPerSm / taken);
  }

  // A warp gets its registers from one partition of the SM, in whole units.
  let byRegisters = Infinity;
  if (registers > MAX_REGISTERS_PER_THREAD) {
    byRegisters = 0;
  } else if (registers > 0) {
    const perWarp = roundUp(registers * gpu.lanes, gpu.registerGranularity);
    const partitions = gpu.subPartitionsPerSm;
    const warpsPerPartition =
        Math.floor(Math.floor(gpu.registersPerSm / partitions) / perWarp);
    byRegisters = Math.floor(warpsPerPartition * partitions / warpsPerBlock);
  }

  const limits = {
    "threads": byThreads, "blocks": gpu.blocksPerSm, "shared memory": bySmem,
    "registers": byRegisters};
  let limiter = "threads";  // of equal limits, the first
  for (const name in limits) {
    if (limits[name] < limits[limiter]) limiter = name;
  }
  const blocks = limits[limiter];
  return {warpsPerBlock, limits, limiter, blocks, percent: 100 * blocks * warpsPerBlock / warpsPerSm};
}

// model::wavefronts_of_load and wavefronts_of_store (src/model/warp_access.cpp): the cycles that one
// instruction of a warp on shared memory takes, as [{lanes, group}] with a mask of the lanes that are
// served. Lane l accesses `bytes` bytes at addresses[l]; null: it takes no part. A lane of 8 or 16
// bytes covers 2 or 4 neighbouring banks completely, so here a bank is a set of 2 or 4 banks, and a
// unit is what a lane needs from it. A bank gives one unit per wavefront, and every lane that wants
// this unit gets it. As many lanes as fill all banks once are a group, and groups are served in turn;
// two groups of a load are one if lanes whose numbers differ only in one of the last two bits have
// equal addresses.
function wavefrontsOf({addresses, bytes, warp: {lanes, banks}}, isLoad) {
  const wide = Math.max(bytes, WORD_BYTES), units = banks * WORD_BYTES / wide;
  const equalInPairs = (distance) => addresses.every((address, lane) =>
    [address, addresses[lane ^ distance] ?? null].includes(null) || addresses[lane ^ distance] === address);
  let perGroup = Math.min(lanes, units);
  if (isLoad && perGroup < lanes && (equalInPairs(1) || equalInPairs(2))) perGroup *= 2;
  const wavefronts = [];
  for (let first = 0, group = 0; first < lanes; first += perGroup) {
    const unitsOfBank = new Map(), ofGroup = [];
    addresses.slice(first, first + perGroup).forEach((address, i) => {
      if (address === null) return;
      const unit = Math.floor(address / wide), given = unitsOfBank.get(unit % units) ?? [];
      if (!given.includes(unit)) unitsOfBank.set(unit % units, [...given, unit]);
      const turn = given.includes(unit) ? given.indexOf(unit) : given.length;
      ofGroup[turn] ??= {lanes: 0, group};
      ofGroup[turn].lanes |= 1 << first + i;
    });
    wavefronts.push(...ofGroup);
    group += ofGroup.length > 0 ? 1 : 0;
  }
  return wavefronts;
}

// model::evaluate (src/model/stage.cpp): the value of a formula with numbers, names, + - * / ( ),
// ceil(x), min(x, y, ...) and max(x, y, ...). `names` is {K: 256, ...}. Throws an Error with the reason.
//   sum     = product { (+|-) product }
//   product = factor { (*|/) factor }
//   factor  = { - } ( number | name | ceil ( sum ) | (min|max) ( sum { , sum } ) | ( sum ) )
function evaluateFormula(formula, names) {
  const parts = formula.match(/[0-9.]+(?:[eE][+-]?[0-9]+)?|\w+|\S/g) ?? [];
  const take = (...wanted) => wanted.includes(parts[0]) ? parts.shift() : "";
  const fail = (wanted) => {
    throw new Error(`expected ${wanted} before ${parts[0] ?? "the end"}`);
  };
  const sum = () => {
    let value = product();
    for (let sign; (sign = take("+", "-")) !== "";) value += sign === "+" ? product() : -product();
    return value;
  };
  const product = () => {
    let value = factor();
    for (let sign; (sign = take("*", "/")) !== "";) {
      value = sign === "*" ? value * factor() : value / (factor() || fail("a divisor that is not 0"));
    }
    return value;
  };
  const inBrackets = (canBeSeveral) => {
    const expect = (sign) => take(sign) || fail(sign);
    expect("(");
    const values = [sum()];
    while (canBeSeveral && take(",")) values.push(sum());
    expect(")");
    return values;
  };
  const factor = () => {
    if (take("-")) return -factor();
    if (parts[0] === "(") return inBrackets(false)[0];
    if (take("ceil")) return Math.ceil(inBrackets(false)[0]);
    if (take("min")) return Math.min(...inBrackets(true));
    if (take("max")) return Math.max(...inBrackets(true));
    const value = Object.hasOwn(names, parts[0]) ? names[parts[0]] : Number(parts[0]);
    return Number.isFinite(value) && parts.shift() ? value : fail("a number or a name");
  };
  const value = sum();
  if (parts.length > 0) fail("an operator");
  if (!Number.isFinite(value)) throw new Error("that is not a finite number");
  return value;
}
