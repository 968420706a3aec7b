words.charts = {
  gpu: "GPU",
  size: "M = N = K",
  scale: "Scale",
  scales: ["linear", "logarithmic"],
  help: "Point at a mark for its numbers. With Tab and the arrow keys you reach all of them.",
  behind: "The numbers behind it",
  stage: "stage",
  stageName: "{stage} {name}",
  tflops: "TFLOP/s",
  roof: "roof",

  roofline: {
    title: "Roofline",
    x: "operations per byte asked of global memory, as traced",
    y: "TFLOP/s, recorded",
    finding:
      "On the {gpu} at {size} x {size} x {size} the operations per byte asked of global memory rise from {low} in stage {first} to {high} in stage {last}, and the speed from {slow} to {fast} TFLOP/s. From {ridge} operations per byte on, DRAM is no longer the limit.",
    above: "Above DRAM's roof, because caches answer most of what is asked: {stages}.",
    dot: "Stage {stage}, {name}, tiles {variant}: {tflops} TFLOP/s at {intensity} operations per byte, which is {percent} % of the peak ({peak}). DRAM and this peak allow {dram} TFLOP/s there.",
    intensity: "operations per byte",
    tiles: "tiles",
    percent: "% of its peak",
    roofs: "The roofs",
    tbPerS: "{value} TB/s",
    tflopsOf: "{value} TFLOP/s",
  },

  staircase: {
    title: "Staircase",
    cublas: "cuBLAS fp32",
    finding:
      "On the {gpu} at {size} x {size} x {size} the stages climb from {slow} TFLOP/s (stage {first}) to {fast} TFLOP/s (stage {last}). That is {percent} % of cuBLAS in fp32, which reaches {cublas} TFLOP/s.",
    legend: "The dashed line is cuBLAS in fp32. Hatched bars are stages on tensor cores; a thick mark is their roof.",
    stair: "Stage {stage}, {name}: {tflops} TFLOP/s, {percent} % of cuBLAS in fp32.",
    times: "It is {times} times as fast as the stage before.",
    tensor: "The tensor cores' roof with its instruction is {roof} TFLOP/s.",
    percent: "% of cuBLAS",
    factor: "times the stage before",
  },
};
