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
// + - * / ( ), ceil(x) and max(x, y). `names` is {K: 256, ...}. Throws an Error with the reason.
//   sum     = product { (+|-) product }
//   product = factor { (*|/) factor }
//   factor  = { - } ( number | name | ceil ( sum ) | max ( sum , sum ) | ( sum ) )
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
  // What follows each of these signs, up to the closing bracket.
  const inBrackets = (...signs) => {
    const expect = (sign) => take(sign) || fail(sign);
    const values = signs.map((sign) => expect(sign) && sum());
    expect(")");
    return values;
  };
  const factor = () => {
    if (take("-")) return -factor();
    if (parts[0] === "(") return inBrackets("(")[0];
    if (take("ceil")) return Math.ceil(inBrackets("(")[0]);
    if (take("max")) return Math.max(...inBrackets("(", ","));
    const value = Object.hasOwn(names, parts[0]) ? names[parts[0]] : Number(parts[0]);
    return Number.isFinite(value) && parts.shift() ? value : fail("a number or a name");
  };
  const value = sum();
  if (parts.length > 0) fail("an operator");
  if (!Number.isFinite(value)) throw new Error("that is not a finite number");
  return value;
}
