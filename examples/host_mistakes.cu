// What host code may get wrong around its kernels, and what only looks like it. The program's
// argument says which: a mistake has a twin with the name "right-...".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

constexpr int kMany = 1000, kBytes = kMany * sizeof(float);

__global__ void add(float* to, int n, float x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += x;
}
__global__ void copy(const float* from, float* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}
__global__ void count(int* counter) {
  atomicAdd(counter, 1);
}

__managed__ int calls;
__global__ void call() {
  calls += 1;
}

__device__ float on_device[kMany];
__constant__ float constants[10];
float of_file[kMany];
static float of_file_too[kMany];

__global__ void with_static(float* to, int n) {
  static float kept[kMany];  // as on a GPU, the kernel's
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  kept[i] = to[i];
  to[i] = kept[i] + 1;
}

struct Work {
  float *a, *b, *managed, *pinned;
  int* counter;
  cudaStream_t s, t, u, v;  // the first two do not wait for the default stream
  cudaEvent_t event;
  Work() {
    cudaMalloc(&a, kBytes);
    cudaMalloc(&b, kBytes);
    cudaMalloc(&counter, sizeof *counter);
    cudaMallocManaged(&managed, kBytes);
    cudaMallocHost(&pinned, kBytes);
    for (int i = 0; i < kMany; ++i) managed[i] = pinned[i] = static_cast<float>(i);
    cudaMemset(a, 0, kBytes);
    cudaMemset(b, 0, kBytes);
    cudaMemset(counter, 0, sizeof *counter);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaStreamCreate(&u);
    cudaStreamCreate(&v);
    cudaEventCreate(&event);
    cudaDeviceSynchronize();
  }
};

void upload(float* to, const float* from, std::size_t bytes) {
  cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
}

int main(int count_of_words, char** words) {
  static float of_main[kMany];
  float on_stack[kMany];
  float sum = 0;
  std::vector<float> vector(kMany);
  auto* const heap = static_cast<float*>(std::calloc(kMany, sizeof(float)));
  auto* const grown = static_cast<float*>(std::realloc(std::malloc(4), kBytes));
  auto* const newed = new float[kMany];
  std::memset(on_stack, 0, sizeof on_stack);
  Work w;
  void* address = nullptr;
  const char* const how = count_of_words > 1 ? words[1] : "right-copies";
  const auto is = [&](const char* name) { return std::strcmp(how, name) == 0; };
  if (is("past-the-stack")) {
    cudaMemcpy(w.a, on_stack + 1, kBytes, cudaMemcpyHostToDevice);
  } else if (is("array-of-file")) {
    // The host's memory as a kernel's argument.
    add<<<4, 256>>>(of_file, kMany, 1);
  } else if (is("static-array-of-file")) {
    add<<<4, 256>>>(of_file_too, kMany, 1);
  } else if (is("static-array-of-main")) {
    add<<<4, 256>>>(of_main, kMany, 1);
  } else if (is("array-on-the-stack")) {
    add<<<4, 256>>>(on_stack, kMany, 1);
  } else if (is("array-on-the-heap")) {
    add<<<4, 256>>>(heap, kMany, 1);
  } else if (is("data-of-a-vector")) {
    add<<<4, 256>>>(vector.data(), kMany, 1);
  } else if (is("right-address-of-a-symbol")) {
    cudaGetSymbolAddress(&address, on_device);
    add<<<4, 256>>>(static_cast<float*>(address), kMany, 1);
    cudaGetSymbolAddress(&address, constants);
    copy<<<1, 10>>>(static_cast<float*>(address), w.a, 10);
  } else if (is("right-static-array-of-a-kernel")) {
    with_static<<<4, 256>>>(w.a, kMany);
  } else if (is("freed")) {
    cudaFree(w.a);
    add<<<4, 256>>>(w.a, kMany, 1);
  } else if (is("behind-freed")) {
    cudaFree(w.a);
    add<<<4, 256>>>(w.a + kMany + 50, kMany, 1);
  } else if (is("past-the-device")) {
    // Copies beyond an array.
    upload(w.a, vector.data(), kBytes + 4);
  } else if (is("past-a-vector")) {
    float* larger;
    cudaMalloc(&larger, 2 * kBytes);
    upload(larger, vector.data(), kBytes + 4);
  } else if (is("past-calloc")) {
    cudaMemcpy(heap + 1, w.a, kBytes, cudaMemcpyDeviceToHost);
  } else if (is("past-realloc")) {
    cudaMemcpy(grown + 1, w.a, kBytes, cudaMemcpyDeviceToHost);
  } else if (is("past-new")) {
    cudaMemcpy(newed + 1, w.a, kBytes, cudaMemcpyDeviceToHost);
  } else if (is("past-an-array-of-file")) {
    upload(w.a, of_file + 1, kBytes);
  } else if (is("past-a-static-array")) {
    upload(w.a, of_main + 1, kBytes);
  } else if (is("past-memset")) {
    cudaMemset(w.a, 0, kBytes + 1);
  } else if (is("past-rows")) {
    cudaMemcpy2D(w.a, 40, vector.data(), 44, 40, 100, cudaMemcpyHostToDevice);
  } else if (is("past-a-symbol")) {
    cudaMemcpyToSymbol(constants, of_file, 44);
  } else if (is("past-async")) {
    cudaMemcpyAsync(w.a + 1, w.pinned, kBytes, cudaMemcpyHostToDevice, w.s);
  } else if (is("right-copies")) {
    for (const float* from : {vector.data(), heap, grown, newed, of_file, on_stack}) {
      upload(w.a, from, kBytes);
    }
    upload(w.a + kMany / 2, of_main + kMany / 2, kBytes / 2);
    cudaMemcpy2D(w.a, 40, vector.data(), 40, 40, 100, cudaMemcpyHostToDevice);
    const std::string text(100, 'x');
    cudaMemcpy(w.a, text.data(), text.size(), cudaMemcpyHostToDevice);
  } else if (is("two-kernels")) {
    // Streams.
    add<<<4, 256, 0, w.s>>>(w.a, kMany, 1);
    add<<<4, 256, 0, w.t>>>(w.a, kMany, 1);
  } else if (is("two-blocking-streams")) {
    add<<<4, 256, 0, w.u>>>(w.a, kMany, 1);
    copy<<<4, 256, 0, w.v>>>(w.a, w.b, kMany);
  } else if (is("default-and-not-blocking")) {
    add<<<4, 256>>>(w.a, kMany, 1);
    copy<<<4, 256, 0, w.s>>>(w.a, w.b, kMany);
  } else if (is("copy-and-kernel")) {
    cudaMemcpyAsync(w.a, w.pinned, kBytes, cudaMemcpyHostToDevice, w.s);
    add<<<4, 256, 0, w.t>>>(w.a, kMany, 1);
  } else if (is("event-of-the-wrong-stream")) {
    add<<<4, 256, 0, w.s>>>(w.a, kMany, 1);
    cudaEventRecord(w.event, w.t);
    cudaStreamWaitEvent(w.t, w.event);
    copy<<<4, 256, 0, w.t>>>(w.a, w.b, kMany);
  } else if (is("halves-with-one-element-in-common")) {
    add<<<2, 256, 0, w.s>>>(w.a, kMany / 2 + 1, 1);
    add<<<2, 256, 0, w.t>>>(w.a + kMany / 2, kMany / 2, 1);
  } else if (is("right-halves")) {
    add<<<2, 256, 0, w.s>>>(w.a, kMany / 2, 1);
    add<<<2, 256, 0, w.t>>>(w.a + kMany / 2, kMany / 2, 1);
  } else if (is("right-event")) {
    add<<<4, 256, 0, w.s>>>(w.a, kMany, 1);
    cudaEventRecord(w.event, w.s);
    cudaStreamWaitEvent(w.t, w.event);
    copy<<<4, 256, 0, w.t>>>(w.a, w.b, kMany);
  } else if (is("right-wait")) {
    add<<<4, 256, 0, w.s>>>(w.a, kMany, 1);
    cudaStreamSynchronize(w.s);
    copy<<<4, 256, 0, w.t>>>(w.a, w.b, kMany);
  } else if (is("right-default-between")) {
    add<<<4, 256, 0, w.u>>>(w.a, kMany, 1);
    add<<<4, 256>>>(w.a, kMany, 1);
    add<<<4, 256, 0, w.v>>>(w.a, kMany, 1);
  } else if (is("right-atomics")) {
    count<<<4, 256, 0, w.s>>>(w.counter);
    count<<<4, 256, 0, w.t>>>(w.counter);
  } else if (is("right-loads")) {
    copy<<<4, 256, 0, w.s>>>(w.a, w.b, kMany);
    copy<<<4, 256, 0, w.t>>>(w.a, w.managed, kMany);
  } else if (is("right-pieces")) {
    int i = 0;
    for (const cudaStream_t stream : {w.s, w.t, w.u, w.v}) {
      float *const host = w.pinned + 250 * i, *const device = w.a + 250 * i++;
      cudaMemcpyAsync(device, host, 1000, cudaMemcpyHostToDevice, stream);
      add<<<1, 256, 0, stream>>>(device, 250, 2);
      cudaMemcpyAsync(host, device, 1000, cudaMemcpyDeviceToHost, stream);
    }
    cudaDeviceSynchronize();
    for (i = 0; i < kMany; ++i) sum += w.pinned[i] - static_cast<float>(i) - 2;
  } else if (is("read-too-early")) {
    // Memory that host and GPU share.
    add<<<4, 256>>>(w.managed, kMany, 1);
    sum = w.managed[3];
  } else if (is("stored-too-early")) {
    copy<<<4, 256>>>(w.managed, w.a, kMany);
    w.managed[0] = 2;
  } else if (is("read-too-early-the-second-time")) {
    add<<<4, 256>>>(w.managed, kMany, 1);
    cudaDeviceSynchronize();
    add<<<4, 256>>>(w.managed, kMany, 1);
    sum = w.managed[kMany - 1];
  } else if (is("variable-read-too-early")) {
    call<<<1, 1>>>();
    sum = static_cast<float>(calls);
  } else if (is("pinned-read-too-early")) {
    cudaMemcpyAsync(w.pinned, w.a, kBytes, cudaMemcpyDeviceToHost, w.s);
    sum = w.pinned[1];
  } else if (is("right-synchronized")) {
    add<<<4, 256>>>(w.managed, kMany, 1);
    call<<<1, 1>>>();
    cudaDeviceSynchronize();
    sum = w.managed[3] - 4 + static_cast<float>(calls - 1);
    calls = 5;
    std::FILE* const zeros = std::fopen("/dev/zero", "r");
    sum += static_cast<float>(std::fread(w.managed, 4, kMany, zeros) - kMany);
    std::fclose(zeros);
  } else if (is("right-read-of-what-is-only-loaded")) {
    copy<<<4, 256>>>(w.managed, w.a, kMany);
    sum = w.managed[5] - 5;
  } else if (is("right-other-half")) {
    add<<<2, 256>>>(w.managed, kMany / 2, 1);
    w.managed[kMany - 1] = 3;
    sum = w.managed[kMany / 2] - kMany / 2;
  } else if (is("right-copied")) {
    add<<<4, 256>>>(w.managed, kMany, 1);
    cudaMemcpy(heap, w.managed, kBytes, cudaMemcpyDeviceToHost);
    sum = w.managed[0] - heap[0];
  } else if (is("right-query")) {
    cudaMemcpyAsync(w.pinned, w.a, kBytes, cudaMemcpyDeviceToHost, w.s);
    cudaEventRecord(w.event, w.s);
    while (cudaEventQuery(w.event) == cudaErrorNotReady) {
    }
    sum = w.pinned[1];
  } else {
    std::puts("no such program");
    return 2;
  }
  cudaDeviceSynchronize();
  std::free(heap);
  std::free(grown);
  delete[] newed;
  std::printf("the sum is %g\n", sum);
  return sum == 0 ? 0 : 3;
}
