// Functions and types of CUDA's host interface that do not run on a CPU.
void sgemm(int, int, int, float, const float*, const float*, float, float*) {
  cudaMallocArray(nullptr, nullptr, 64, 64);
  cudaGraph_t graph = nullptr;
  cudaGraphDebugDotPrint(graph, "graph.dot", 0);
}
