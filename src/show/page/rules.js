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

// One instruction of one warp, as model::WarpAccess (src/model/warp_access.h): every lane accesses
// `bytes` bytes at its address; null: the lane takes no part. `warp` is the geometry.
//   {addresses: [0, 4, 8, ...], bytes: 4, warp: {lanes: 32, banks: 32}}

function activeLanes(access) {
  return [...access.addresses.keys()].filter((lane) => access.addresses[lane] !== null);
}

// The wavefronts of lanes that are served together. A lane of 8 or 16 bytes covers 2 or 4
// neighbouring banks completely, so here a bank is a set of 2 or 4 banks, and a unit is what a lane
// needs from it. A bank gives one unit per wavefront, and every lane that wants this unit gets it.
// A lane is served in the first wavefront in which its bank is free or gives its unit already.
function wavefrontsOfGroup(access, lanes, bytes, group) {
  const banks = access.warp.banks * WORD_BYTES / bytes;
  const unitsOfBank = new Map();  // the units that each bank gives, wavefront after wavefront
  const wavefronts = [];
  for (const lane of lanes) {
    const unit = Math.floor(access.addresses[lane] / bytes);
    const bank = unit % banks;
    if (!unitsOfBank.has(bank)) unitsOfBank.set(bank, []);
    const units = unitsOfBank.get(bank);
    if (!units.includes(unit)) units.push(unit);
    const turn = units.indexOf(unit);
    if (turn === wavefronts.length) wavefronts.push({lanes: [], group});
    wavefronts[turn].lanes.push(lane);
  }
  return wavefronts;
}

function wavefrontsInGroups(access, lanes, bytes, lanesPerGroup) {
  const wavefronts = [];
  let groups = 0;
  for (let first = 0; first < access.warp.lanes; first += lanesPerGroup) {
    const inGroup = lanes.filter((lane) => lane >= first && lane < first + lanesPerGroup);
    if (inGroup.length === 0) continue;
    wavefronts.push(...wavefrontsOfGroup(access, inGroup, bytes, groups));
    ++groups;
  }
  return {wavefronts, groups, conflicts: wavefronts.length - groups};
}

// As many lanes as fill all banks once.
function lanesPerGroup(access, bytes) {
  return Math.min(access.warp.lanes, access.warp.banks * WORD_BYTES / bytes);
}

// Whether every two active lanes whose numbers differ only in the bit `distance` have the same
// address.
function equalInPairs(access, distance) {
  return activeLanes(access).every((lane) => {
    const other = access.addresses[lane ^ distance];
    return other === null || other === undefined || other === access.addresses[lane];
  });
}

// model::wavefronts_of_load (src/model/warp_access.cpp): the cycles that a load from shared memory
// takes, as [{lanes, group}], the number of groups, and the bank conflicts: wavefronts beyond one
// for each group. Neighbouring groups are served as one if lanes are equal in pairs.
function wavefrontsOfLoad(access) {
  const bytes = Math.max(access.bytes, WORD_BYTES);
  let lanes = lanesPerGroup(access, bytes);
  if (lanes < access.warp.lanes && (equalInPairs(access, 1) || equalInPairs(access, 2))) lanes *= 2;
  return wavefrontsInGroups(access, activeLanes(access), bytes, lanes);
}

// model::wavefronts_of_store
function wavefrontsOfStore(access) {
  const bytes = Math.max(access.bytes, WORD_BYTES);
  return wavefrontsInGroups(access, activeLanes(access), bytes, lanesPerGroup(access, bytes));
}

// model::evaluate (src/model/stage.cpp): the value of a formula with numbers, names,
// + - * / ( ), ceil(x) and max(x, y). `names` is {K: 256, ...}. Throws an Error with the reason and
// the place of the character; the first is 1.
//   sum     = product { (+|-) product }
//   product = factor { (*|/) factor }
//   factor  = { - } ( number | name | ceil ( sum ) | max ( sum , sum ) | ( sum ) )
function evaluateFormula(formula, names) {
  const MAX_DEPTH = 100;
  let at = 0, depth = 0;

  const fail = (what, position) => {
    throw new Error(`${what} at character ${position + 1}`);
  };
  const next = () => {  // the next character that is not a blank; undefined at the end
    while (formula[at] === " ") ++at;
    return formula[at];
  };
  const take = (wanted) => {
    if (next() !== wanted) return false;
    ++at;
    return true;
  };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(formula) ?? [""];
    at += found.length;
    return found;
  };
  const expect = (wanted, what = "") => take(wanted) || fail(`expected ${wanted}${what}`, at);

  const sum = () => {
    let value = product();
    for (;;) {
      if (take("+")) value += product();
      else if (take("-")) value -= product();
      else return value;
    }
  };
  const product = () => {
    let value = factor();
    for (;;) {
      if (take("*")) {
        value *= factor();
      } else if (take("/")) {
        const slash = at - 1, divisor = factor();
        value /= divisor === 0 ? fail("division by zero", slash) : divisor;
      } else {
        return value;
      }
    }
  };
  const factor = () => {
    if (take("-")) return -factor();
    const c = next() ?? "";
    if (/[0-9.]/.test(c)) return number();
    if (/[A-Za-z_]/.test(c)) return nameOrFunction();
    return take("(") ? restOfBrackets() : fail("expected a number, a name or (", at);
  };
  const number = () => {
    const begin = at, written = match(/([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?/y), value = Number(written);
    const vanished = value === 0 && /^[^eE]*[1-9]/.test(written);
    return written === "" || value === Infinity || vanished ? fail("not a number that fits", begin) : value;
  };
  const nameOrFunction = () => {
    const begin = at, name = match(/[A-Za-z0-9_]+/y);
    if (name === "ceil" || name === "max") expect("(", ` after ${name}`);
    if (name === "ceil") return Math.ceil(restOfBrackets());
    if (name === "max") {
      const first = sum();
      expect(",");
      const second = restOfBrackets();
      return first < second ? second : first;
    }
    return Object.hasOwn(names, name) ? names[name] : fail(`unknown name ${name}`, begin);
  };
  const restOfBrackets = () => {
    if (++depth > MAX_DEPTH) fail("too many brackets inside one another", at - 1);
    const value = sum();
    expect(")");
    --depth;
    return value;
  };

  const value = sum();
  if (next() !== undefined) fail("expected an operator or the end", at);
  return value;
}
