#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "testing/program.h"

namespace attempt {

namespace {

using testing::contains, testing::Output, testing::run;

// A sample program, as make built it beside the tests.
Output try_sample(const std::string& name, const std::string& flags) {
  return testing::run((testing::built() / "try" / name).string() + " --device cpu " + flags);
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines = testing::lines_of(text);
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("other people's kernels compile unmodified, are traced, and are right") {
  // The audit of a block takes most of the time, and grows with K. A tile of tiled is 16 wide.
  for (const auto& [sample, K] :
       {std::pair("naive", "5 "), {"tiled", "23 "}, {"split_k", "71 "}, {"chevrons", "5 "}}) {
    for (const char* flags :
         {"--m 64 --n 64", "--m 50 --n 33 --alpha 2 --beta 0.5", "--m 37 --n 37 --trace all",
          "--m 32 --n 32 --explain"}) {
      CAPTURE(std::string(sample));
      CAPTURE(std::string(flags));
      const Output output = try_sample(sample, std::string("--k ") + K + flags);
      CAPTURE(output.err);
      CHECK(output.exit_code == 0);
      CHECK(contains(output.out, "ok"));
    }
  }
}

TEST_CASE("on many cores, too, there are addresses for the stacks of blocks of 1024 threads") {
  const Output output =
      run("OMP_NUM_THREADS=64 " + (testing::built() / "try" / "chevrons").string() +
          " --device cpu --size 256");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
}

TEST_CASE("one block is audited, and counts that would not be true are withheld") {
  const Output tiled = try_sample("tiled", "--size 16");
  CHECK(contains(tiled.out, "of the first block were announced to the tracer, and no others."));
  CHECK(
      contains(try_sample("split_k", "--m 8 --n 8 --k 64").out, "the first blocks of 2 launches"));
  // If a block waits for another one, the audit ends there.
  const Output waits = try_sample("stream_k", "--size 64");
  CHECK(contains(waits.out, "Audited: the first "));
  CHECK(contains(waits.out, " of the first block were announced"));
  const Output unseen = try_sample("unseen", "--size 16");
  CHECK(unseen.exit_code == 1);
  CHECK(unseen.out.empty());
  CHECK(contains(
      unseen.err,
      "try: line 9: thread 0 makes a load that the compiler does not announce; the counts would "
      "miss it, so none are printed"));
  const Output elsewhere = try_sample("unseen", "--size 16 --beta 1 --file examples/unseen.cu");
  CHECK(contains(elsewhere.err, "try: line 4 of unseen.cuh: thread 0 makes a load that "));
}

TEST_CASE("every kernel of a file is counted on its own, and their result is checked together") {
  const Output output = try_sample("split_k", "--m 8 --n 8 --k 64 --trace all --format json");
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "\"name\": \"scale\""));
  CHECK(contains(output.out, "\"name\": \"dot\""));
  CHECK(contains(output.out, "\"bound_ok\": true"));
  // Two loads by each of 8 * 8 * 2 warps, and an atomicAdd.
  CHECK(contains(output.out, "\"gmem_load_requests\": 384"));
}

TEST_CASE("a kernel's printf appears beside the report, with the thread's name on request") {
  CHECK(try_sample("tiled", "--size 16").err == "tiles of 16 x 16\n");
  CHECK(contains(
      try_sample("tiled", "--size 16 --name-threads").err,
      "[block 0,0,0 thread 0,0,0] tiles of 16 x 16"));
  CHECK(!contains(try_sample("tiled", "--size 16 --format json").out, "tiles of"));
}

TEST_CASE("an access in a function that a kernel calls has the call's line and its own") {
  const std::string out = try_sample("helpers", "--m 64 --n 64 --k 8 --explain").out;
  const std::size_t call = out.find("   14   for (int k = 0; k < K; ++k) sum += product(");
  const std::size_t next = out.find("   15   C[row * N + col]");
  REQUIRE(call < next);
  const std::string of_call = out.substr(call, next - call);
  CAPTURE(of_call);
  CHECK(contains(of_call, "GMEM load  A        4 B,  8.00 per thread,  1.00 sectors/request"));
  CHECK(contains(of_call, "GMEM load  B        4 B,  8.00 per thread,  4.00 sectors/request"));
  CHECK(contains(of_call, ", in line 3\n"));
  CHECK_FALSE(contains(out, "    3   return matrix"));  // the functions are no part of the kernel
  CHECK_FALSE(contains(out.substr(next), ", in line"));
  CHECK(contains(try_sample("helpers", "--size 16 --format json").out, "\"helper_line\": 3"));
}

TEST_CASE("blocks that wait for each other make progress on any number of threads") {
  for (const char* settings : {"OMP_NUM_THREADS=1 ", "OMP_NUM_THREADS=3 "}) {
    for (const char* flags : {" --size 40", " --size 40 --trace all"}) {
      const Output output = run(
          settings + (testing::built() / "try" / "stream_k").string() + " --device cpu" + flags);
      CAPTURE(output.err);
      CHECK(output.exit_code == 0);
      CHECK(output.err == "");
    }
  }
}

TEST_CASE("inline PTX in a file that is not rewritten is reported with file and line") {
  const testing::Folder folder;
  folder.write("ptx.cu", "__global__ void k(int n) {\n  asm(\"mov.s32 %0, 0;\" : \"=r\"(n));\n}\n");
  const Output output = run(
      "g++ -x c++ -std=c++20 -fsyntax-only -w -iquote . -iquote src -Isrc/simulator/cuda/headers "
      "-include src/simulator/cuda/cpu.h " +
      folder / "ptx.cu");
  CAPTURE(output.err);
  CHECK(output.exit_code == 1);
  CHECK(contains(output.err, "ptx.cu:2:11: error: inline PTX cannot be traced"));
}

TEST_CASE("a kernel may have inline PTX: it is traced, checked and counted") {
  for (const char* size : {"--m 64 --n 64 --k 32", "--m 70 --n 33 --k 19"}) {
    const Output output = try_sample("inline_ptx", std::string(size) + " --trace all");
    CAPTURE(output.err);
    CHECK(output.exit_code == 0);
    CHECK(output.err == "");
    CHECK(contains(output.out, "multiply"));
  }
}

TEST_CASE("output of a kernel or its host appears once, from the run with complete results") {
  // Three rows, two parts: the second kernel is launched twice, so all of it runs again.
  const Output output = try_sample("prints", "--m 3 --n 70 --k 8");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(std::count(output.err.begin(), output.err.end(), '\n') == 8);
  CHECK(output.err.starts_with("on the host\ncleared\n"));
  CHECK(!contains(output.err, "nan"));
  // Nine blocks, five of them traced. With one kernel, only the others run again.
  CHECK(try_sample("tiled", "--size 48").err == "tiles of 16 x 16\n");
  // Blocks run in parallel, as on a GPU, so the order of their lines is arbitrary.
  const Output all_traced = try_sample("prints", "--m 3 --n 70 --k 8 --trace all");
  CHECK(sorted_lines(all_traced.err) == sorted_lines(output.err));
}

TEST_CASE("cudaMalloc on the CPU gives memory that is counted under the pointer's name") {
  const Output output = try_sample("device_memory", "--size 64 --alpha 2 --format json");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "\"bound_ok\": true"));
  CHECK(contains(output.out, "\"array\": \"d_A\", \"space\": \"global\", \"direction\": \"load\""));
  CHECK(contains(output.out, "\"array\": \"workspace\", \"space\": \"global\""));
}

TEST_CASE("a program's calls of CUDA functions have CUDA's meaning, and wrong ones a line") {
  const Output output = try_sample("host_calls", "");
  CAPTURE(output.out);
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "two streams: 3 ... 3 in 0 ms\n"));
  CHECK(contains(output.out, "launch and product: 512 * 81\n"));
  CHECK(contains(output.out, "the last copy: invalid argument\n"));
  CHECK(contains(
      output.err,
      "try: note: examples/host_calls.cu:61: cudaMemcpy: the source, d_values, must be memory of "
      "the host, and is memory of the GPU\n"));
  CHECK(contains(output.err, "try: note: Times are not measured on a CPU"));
  CHECK(std::count(output.err.begin(), output.err.end(), '\n') == 2);
}

TEST_CASE("host code may use atomics and locks") {
  const Output output = try_sample("host_atomics", "--size 40");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(output.err == "");
}

TEST_CASE("unknown registers can be given by a flag, and limit the occupancy") {
  const std::string unknown = try_sample("naive", "--size 16 --explain").out;
  CHECK(contains(unknown, "not known without nvcc; --registers N states them"));
  const std::string stated = try_sample("naive", "--size 16 --explain --registers 128").out;
  CHECK(contains(stated, "128 x 32 lanes = 4,096 per warp"));
  CHECK(contains(stated, "2 blocks x 8 warps = 16 of the 64 warps"));
  for (const char* wrong : {"0", "256", "-1", "many", "1e9", ""}) {
    const Output output = try_sample("naive", std::string("--registers '") + wrong + "'");
    CHECK(output.exit_code == 2);
    CHECK(
        contains(output.err, "try: --registers " + std::string(wrong) + ": not a register count"));
  }
}

TEST_CASE("registers from ptxas are used for the nearest architecture up to the GPU's") {
  const testing::Folder folder;
  std::filesystem::copy_file(testing::built() / "try" / "tiled", folder / "tiled");
  // The output of ptxas from CUDA 13, after c++filt -p.
  std::ofstream(folder / "log")
      << "ptxas info    : 0 bytes gmem\n"
         "ptxas info    : Compiling entry function 'tiled<16u>' for 'sm_75'\n"
         "ptxas info    : Function properties for tiled<16u>\n"
         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
         "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n"
         "ptxas info    : Compiling entry function 'tiled<16u>' for 'sm_86'\n"
         "ptxas info    : Used 64 registers, used 1 barriers, 1024 bytes smem\n"
         "ptxas info    : Compiling entry function 'tiled<16u>' for 'sm_90a'\n"
         "ptxas info    : Used 33 registers, used 1 barriers, 1024 bytes smem\n";
  REQUIRE(run("awk -f src/model/ptxas_registers.awk " + folder / "log").exit_code == 0);
  std::ofstream(folder / "tiled.registers")
      << run("awk -f src/model/ptxas_registers.awk " + folder / "log").out;
  const auto explained = [&](const std::string& gpu) {
    return run(folder / "tiled" + " --device cpu --size 16 --explain --gpu '" + gpu + "'").out;
  };
  CHECK(contains(explained("T4"), "40 x 32 lanes"));
  CHECK(contains(explained("A100 SXM4 80GB"), "40 x 32 lanes"));
  CHECK(contains(explained("RTX 4090"), "64 x 32 lanes"));
  CHECK(contains(explained("H200"), "33 x 32 lanes"));
}

TEST_CASE("a kernel's loads from shared memory stand beside those of nvcc's code, line by line") {
  const testing::Folder folder;
  std::filesystem::copy_file(testing::built() / "try" / "tiled", folder / "tiled");
  const auto kernel = [&] {
    return run(folder / "tiled" +
               " --device cpu --gpu rtx3090 --size 32 --trace all --explain --section kernel")
        .out;
  };
  const std::string without = kernel();
  CHECK_FALSE(contains(without, "nan"));
  CHECK(contains(without, "Loads from shared memory that the compiler may merge\n"));
  CHECK(contains(without, "  line 26, As: 4 loads in one, 2.00 instead of 4.00 wavefronts\n"));
  CHECK(!contains(without, "dynamic: "));
  CHECK(contains(without, "Without nvcc, the code of sm_86 is not known."));
  folder.write("tiled.why_not_compiled", "nvcc does not compile the file: some reason\n");
  CHECK(contains(kernel(), "nvcc does not compile the file: some reason"));
  CHECK(
      run(folder / "tiled" + " --device cpu --size 16 2>&1 >/dev/null | tail -1").out ==
      "try: note: nvcc does not compile the file: some reason; so its registers are not known\n");

  // As nvdisasm writes it.
  const std::string file = std::filesystem::absolute("examples/tiled.cu").string();
  std::string code =
      ".text._Z5tiledILj16EEviiifPKfS1_fPf:\n.L_x_1:\n\t//## File \"" + file + "\", line 26\n";
  for (int i = 0; i < 4; ++i) code += "        /*0000*/                   LDS.128 R4, [R5] ;\n";
  for (int i = 0; i < 16; ++i) code += "        /*0000*/                   LDS R4, [R6] ;\n";
  code += "        /*0000*/              @P0 BRA `(.L_x_1) ;\n        /*0000*/      EXIT ;\n";
  folder.write("tiled.sm_86.sass", code);
  const std::string with = kernel();
  CAPTURE(with);
  CHECK(contains(with, "Its loads from shared memory as nvcc compiled them for sm_86"));
  CHECK(contains(
      with,
      "  26         As, dynamic       2,048       2,048       1,280       1,536  16 LDS + 4 "
      "LDS.128"));
  const std::string json =
      run(folder / "tiled" + " --device cpu --gpu rtx3090 --size 32 --trace all --format json").out;
  CHECK(contains(
      json,
      "{\"line\": 26, \"arrays\": \"As, dynamic\", \"requests\": 2048, \"wavefronts\": 2048, "
      "\"compiled_requests\": 1280, \"compiled_wavefronts\": 1536, \"lds_32\": 16, "
      "\"lds_64\": 0, \"lds_128\": 4}"));
}

TEST_CASE("nvcc's output for a file is kept beside the program, or the reason if there is none") {
  const testing::Folder folder;
  const auto script = [&](const std::string& name, const std::string& text) {
    folder.write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  };
  const auto compiled = [&] {
    return run(
        "PATH=/usr/bin:/bin KERNEL=examples/tiled.cu src/try/try.sh cubins " + folder / "p" +
        " '86 90a 86' " + folder / "nvcc -O3");
  };
  script(
      "nvcc",
      "echo \"ptxas info    : Compiling entry function '_Z5tiledILj16EEvPf' for 'sm_86'\" >&2\n"
      "echo \"ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\" >&2\n"
      "while [ $# -gt 0 ]; do case $1 in -arch=*) arch=$1 ;; -o) shift; echo $arch > $1 ;; esac; "
      "shift; done\n");
  CHECK(compiled().exit_code == 0);
  CHECK(testing::contents(folder / "p.registers")
            .starts_with("{\"tiled<16u>\", 86, 40, 0, 1024},\n"));
  CHECK(
      testing::contents(folder / "p.why_not_compiled") ==
      "nvcc's code cannot be read, because nvdisasm (of the CUDA toolkit) is missing.\n");
  script("nvdisasm", "cat $2\n");
  CHECK(compiled().exit_code == 0);
  CHECK(testing::contents(folder / "p.sm_86.sass") == "-arch=sm_86\n");
  CHECK(testing::contents(folder / "p.sm_90a.sass") == "-arch=sm_90a\n");
  CHECK(!std::filesystem::exists(folder / "p.why_not_compiled"));
  script("nvcc", "echo \"a.cu(3): error: what is x\"\nexit 1\n");
  CHECK(compiled().exit_code == 0);
  CHECK(testing::contents(folder / "p.why_not_compiled")
            .starts_with("nvcc does not compile the file for sm_86: "));
  CHECK(contains(testing::contents(folder / "p.why_not_compiled"), "a.cu(3): error: what is x"));
  CHECK(!std::filesystem::exists(folder / "p.sm_86.sass"));
  CHECK(!std::filesystem::exists(folder / "p.registers"));
}

TEST_CASE("nvcc compiles for the GPU that the flags of make try name") {
  const auto architecture = [](const std::string& flags) {
    return run((testing::built() / "try" / "architecture").string() + " " + flags).out;
  };
  CHECK(architecture("") == "90a\n");
  CHECK(architecture("--gpu H200 --size 64") == "90a\n");
  CHECK(architecture("--gpu T4 --limit 3 --registers 20 --show x.html") == "75\n");
  CHECK(architecture("--gpu none") == "");
  CHECK(architecture("--bogus") == "");
}

TEST_CASE("an sgemm over half is checked by the bound for half, which is named") {
  const Output output = try_sample("half", "--m 64 --n 64 --k 8");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "  ok"));
  CHECK(contains(
      output.out, "Checked by the error bound for A and B in half, sums in half and C in half.\n"));
  CHECK(contains(output.out, " + 0 * C, half, seed 1\n"));
  // The lanes of a warp load 2 bytes each.
  const Output wide = try_sample("half", "--m 64 --n 64 --k 8 --format json");
  CHECK(contains(
      wide.out,
      "\"array\": \"B\", \"space\": \"global\", \"direction\": \"load\", "
      "\"bytes_per_lane\": 2"));
  const Output no_alpha = try_sample("half", "--size 64 --alpha 2");
  CHECK(no_alpha.exit_code == 2);
  CHECK(no_alpha.err == "try: --alpha: the file's sgemm has no alpha; leave it out\n");
  CHECK(
      try_sample("half", "--size 64 --beta 2").err ==
      "try: --beta: the file's sgemm has no beta; leave it out\n");
}

namespace {

// The messages of make try while it compiles that file. The copies are FOLDER/yours.traced.o and so
// on.
Output compiled(
    const testing::Folder& folder, const std::string& file, const std::string& more = "",
    const std::string& flags = "") {
  return run(
      "BUILD='" + testing::built().string() + "' KERNEL='" + file + "' MORE='" + more +
      "' src/try/try.sh compile '" + folder / "yours" + "' " + flags);
}

}  // namespace

TEST_CASE("make try says which function is missing, and where a launch is not closed") {
  const testing::Folder folder;
  folder.write("lonely.cu", "__global__ void lonely() {}\n");
  const Output no_sgemm = compiled(folder, folder / "lonely.cu");
  CHECK(no_sgemm.exit_code != 0);
  CHECK(contains(no_sgemm.err, "lonely.cu: defines neither main nor void sgemm(int M, int N, "));
  folder.write("open.cu", "__global__ void k() {}\nint main() {\n  k<<<1, 32>>(); // >>>\n}\n");
  const Output open = compiled(folder, folder / "open.cu");
  CHECK(open.exit_code != 0);
  CHECK(contains(open.err, "open.cu:3: this <<< is not closed by >>>\n"));
  CHECK(contains(
      compiled(folder, folder / "none.cu").err,
      "none.cu: there is no such file, or it cannot be read; give the path of a CUDA file\n"));
}

TEST_CASE("what of CUDA is not traced is refused in one sentence, with its name and line") {
  // Sources, and how the sentence begins (simulator/cuda/refused.txt has it whole).
  const std::pair<std::string, std::string> cases[] = {
      {"void f(cudaGraphExec_t g) { cudaGraphLaunch(g, 0); }", "cudaGraphExec_t: CUDA graphs are"},
      {"void f(cudaStream_t s) { cudaStreamEndCapture(s, nullptr); }",
       "cudaStreamEndCapture: CUDA graphs are not traced here; launch the kernels in a stream"},
      {"void f(cudaMemPool_t* p) { cudaDeviceGetDefaultMemPool(p, 0); }",
       "cudaMemPool_t: memory pools are not traced here; use cudaMalloc or cudaMallocAsync"},
      {"#include <cub/nowhere.cuh>", "cub/nowhere.cuh: this header of CUB is not here; name its"},
      {"#include <cub/device/device_reduce.cuh>\nvoid f() { cub::DeviceReduce::Sum(); }",
       "DeviceReduce: CUB's functions for a whole GPU are not traced here"},
      {"#include <thrust/reduce.h>", "thrust/reduce.h: of Thrust only host_vector and"},
      {"#include <cute/tensor.hpp>", "cute/tensor.hpp: CuTe's and CUTLASS's headers are not here"},
      {"#define SIMT_OWN_CURAND\n#include <curand_kernel.h>\nvoid f(curandStateMRG32k3a* s) {}",
       "curandStateMRG32k3a: without the CUDA toolkit, only the generators XORWOW and"},
      {"#include <torch/extension.h>", "torch/extension.h: PyTorch's headers are not here; give"},
      {"#include <ATen/cuda/CUDAContext.h>", "ATen/cuda/CUDAContext.h: PyTorch's headers are"},
      {"#include <cuda/ptx>", "libcu++'s functions for PTX are not here; write the instruction"},
      {"template <class T> __device__ T f(T v) { return v + __shfl_xor(v, 1); }\n"
       "__global__ void k(float* p) { *p = f(*p); }",
       "__shfl_xor: shuffles and votes without _sync do not exist since sm_70; use "
       "__shfl_xor_sync(0xffffffff, ...): the mask names the lanes that take part"},
      {"__global__ void k(unsigned* p) { *p = __vhaddu4(*p, 1); }",
       "__vhaddu4: of the functions for the bytes or halves of a word, only the common ones"},
      {"#include <cublas_v2.h>\nvoid f(cublasHandle_t h, float* x) { cublasSasum(h, 1, x, 1, x); }",
       "cublasSasum: of cuBLAS, only products of matrices, and of a matrix and a vector, run here"},
      {"#include <cuda.h>\nvoid f() { cuInit(0); }", "cuInit: the driver interface does not run"},
      {"__global__ void k(cudaTextureObject_t t, float* p) { *p = tex2D<float>(t, 0, 0); }",
       "cudaTextureObject_t: textures and CUDA arrays are not traced here; read the data from"},
      {"void f() { struct cudaResourceDesc d; }", "cudaResourceDesc: textures and CUDA arrays"},
      {"template <class T> void f(T* p) { cudaGetDriverEntryPoint(\"x\", p, 0); }\n"
       "void g(void** p) { f(p); }",
       "cudaGetDriverEntryPoint: this is not among the CUDA functions that run here"},
  };
  const testing::Folder folder;
  const std::string file = folder / "refused.cu";
  for (const auto& [source, says] : cases) {
    CAPTURE(source);
    folder.write("refused.cu", source + "\nint main() { return undeclared; }\n");
    const Output output = compiled(folder, file);
    CAPTURE(output.err);
    CHECK(output.exit_code == 2);
    CHECK(output.err.starts_with(file + ":"));
    CHECK(contains(output.err, ": " + says));
    CHECK(std::count(output.err.begin(), output.err.end(), '\n') == 1);
  }
  // A header of -I is not hidden, and what is wrong in it is one sentence, too.
  folder.write("cute/whole.hpp", "inline int whole() { return 0; }\n");
  folder.write("cute/broken.hpp", "#include \"whole.hpp\"\nint broken() { return nobody; }\n");
  folder.write("refused.cu", "#include <cute/whole.hpp>\nint main() { return whole(); }\n");
  const std::string here = "-I" + folder.path().string();
  CHECK(compiled(folder, file, "", here).exit_code == 0);
  folder.write("refused.cu", "#include <cute/broken.hpp>\nint main() {}\n");
  const Output broken = compiled(folder, file, "", here);
  CHECK(broken.exit_code == 2);
  CHECK(
      broken.err == file +
                        ":1: cute/broken.hpp: this part of CuTe and CUTLASS does not compile here: "
                        "'nobody' was not declared in this scope\n");
  // Any other error is the compiler's.
  folder.write("refused.cu", "int main() { return undeclared + cudaMalloc(1); }\n");
  const Output own = compiled(folder, file);
  CHECK(own.exit_code == 1);
  CHECK(contains(own.err, "refused.cu:1:21: error: 'undeclared' was not declared"));
}

TEST_CASE("types of 8-bit numbers can be mentioned, and using them is refused in one sentence") {
  const testing::Folder folder;
  const auto with = [&](const std::string& code) {
    folder.write(
        "fp8.cu",
        "#include <cuda_fp8.h>\ntemplate <class T> struct Name;\n"
        "template <> struct Name<__nv_fp8_e4m3> { int value; };\n"
        "void f(const __nv_fp8_e5m2*) {}\n" +
            code + "int main() { f(nullptr); }\n");
    return compiled(folder, folder / "fp8.cu");
  };
  CHECK(with("__nv_fp8_e4m3 all[4];\nstatic_assert(sizeof all == 4);\n").exit_code == 0);
  for (const char* code :
       {"float g(__nv_fp8_e4m3* p) { return float(*p); }\n",
        "void g(float x) { __nv_fp8_e4m3 y(x); }\n",
        "auto g(float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3); }\n"}) {
    CAPTURE(std::string(code));
    const Output output = with(code);
    CAPTURE(output.err);
    CHECK(output.exit_code == 2);
    CHECK(output.err.starts_with(folder / "fp8.cu" + ":5: __"));
    CHECK(output.err.ends_with(
        ": numbers of 8 bits (fp8) are not traced here; use __half or __nv_bfloat16\n"));
    CHECK(std::count(output.err.begin(), output.err.end(), '\n') == 1);
  }
}

TEST_CASE(
    "a user's file is compiled with precompiled headers, unless a -D of the user's forbids it") {
  const testing::Folder folder;
  folder.write("short.cu", "__global__ void k() {}\nint main() { k<<<1, LANES>>>(); }\n");
  // g++ -H marks a precompiled header that is used by !, and one that does not fit by x.
  CHECK(compiled(folder, folder / "short.cu", "", "-H -DLANES=32").err.starts_with("! "));
  const Output own = compiled(folder, folder / "short.cu", "", "-H -DLANES=32 -D__CUDA_ARCH__=700");
  CHECK(own.exit_code == 0);
  CHECK(own.err.starts_with("x "));
}

TEST_CASE("make try accepts what other people's programs rely on") {
  const testing::Folder folder;
  folder.write(
      "first.cu",
      "#include <cublasLt.h>\n#include <cuda_fp8.h>\n#include <cudaTypedefs.h>\n#include "
      "<math.h>\n"
      "#include <helper_cuda.h>\n#include <helper_functions.h>\n#include <cuda/atomic>\n"
      "#include <thrust/device_vector.h>\n#include <thrust/host_vector.h>\n"
      "#define UNROLL #pragma unroll\n"
      "float sum(thrust::host_vector<float> h) {\n  thrust::device_vector<float> d = h;\n"
      "  h = d;\n  float all = 0;\n  UNROLL\n  for (float x : h) all += x;\n  return all;\n}\n"
      "static_assert(__CUDACC_VER_MAJOR__ >= 12 && __CUDACC_VER_MINOR__ >= 0);\n"
      "float lerp(float a, float b, float t) { return a + t * (b - a); }\n"
      "unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }\n"
      "static const char* _cudaGetErrorEnum(cublasStatus_t) { return \"cuBLAS\"; }\n"
      "cuda::std::atomic<int> count;\n"
      "extern \"C\" __global__ void k(float* p, int n) {\n"
      "  __shared__ float kept[32];\n  kept[threadIdx.x] = p[threadIdx.x];\n"
      "  p[threadIdx.x] = kept[threadIdx.x] + umin(n, 2);\n}\n"
      "int own();\n"
      "int main() {\n  float* p;\n  int n = 1;\n  cudaMalloc(&p, 128);\n"
      "  cudaSetDeviceFlags(cudaDeviceBlockingSync);\n"
      "  void* arguments[] = {&p, &n};\n"
      "  cudaLaunchCooperativeKernel((void*)k, 1, 32, arguments);\n"
      "  k << <1, 32 >> >(p, n);\n  return own();\n}\n");
  folder.write("helper_functions.h", "inline int of_the_program() { return 3; }\n");
  folder.write(
      "second.cpp", "#include <helper_functions.h>\nint own() { return of_the_program(); }\n");
  const Output output =
      compiled(folder, folder / "first.cu", folder / "second.cpp", "-I" + folder.path().string());
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  // Its shared arrays are those of the file in which a kernel is (machine/kernel_memory.cpp).
  const Output symbols = run("readelf -sW " + folder / "yours.traced.o");
  CHECK(contains(symbols.out, "FILE    LOCAL  DEFAULT  ABS first.cu"));
  CHECK(!contains(symbols.out, "second.cpp"));
}

TEST_CASE("files of C are compiled as C, LIBS names libraries, and a crash in them has a line") {
  const testing::Folder folder;
  folder.write(
      "main.cu",
      "#include <cstdio>\nextern \"C\" double of_c(int* class_);\n"
      "__global__ void k(float* p) { p[threadIdx.x] = 1; }\n"
      "int main(int argc, char**) {\n  float* p;\n  cudaMalloc(&p, 128);\n  k<<<1, 32>>>(p);\n"
      "  int x = 4;\n  printf(\"%g\\n\", of_c(argc > 1 ? nullptr : &x));\n}\n");
  folder.write(
      "part.c",
      "#include <math.h>\ndouble of_c(int* class) {\n"
      "  volatile int new = *class;\n  return sqrt(new);\n}\n");
  const auto tried = [&](const std::string& settings) {
    return run(
        "BUILD='" + testing::built().string() + "' PRESENT= KERNEL='" + folder / "main.cu" + "' " +
        settings + " src/try/try.sh try");
  };
  const std::string c = "MORE='" + folder / "part.c" + "' ";
  const Output right =
      tried(c + "TRY_FLAGS='--std c++17 --format csv' LIBS='-lm -lcublas' TRY_ARGS=");
  CAPTURE(right.err);
  CHECK(right.exit_code == 0);
  const Output crashed = tried(c + "TRY_ARGS=null");
  CHECK(crashed.exit_code == 1);
  CHECK(
      crashed.err == "try: " + folder / "part.c" +
                         ":3: the program crashes: it accesses memory that is not there ((nil))\n");
  const Output alone = tried("MORE=");
  CHECK(alone.exit_code == 2);
  CHECK(
      alone.err == folder / "main.cu" +
                       ": of_c is called and not defined; name its file in MORE, or its library in "
                       "LIBS\n");
  const Output no_library = tried(c + "LIBS=-lnowhere");
  CHECK(no_library.exit_code == 2);
  CHECK(no_library.err == "LIBS: -lnowhere: there is no such library here\n");
}

TEST_CASE("make try reports in one sentence what it cannot write or does not support") {
  const auto refused = [](const std::string& flags, const std::string& because) {
    CAPTURE(flags);
    const Output output = try_sample("tiled", flags);
    CAPTURE(output.err);
    CHECK(output.exit_code == 2);
    CHECK(contains(output.err, "try: " + because));
  };
  refused("--size 8 >/dev/full", "stdout: not all of the output could be written");
  refused("--size 8 --format json >&-", "stdout: not all of the output could be written");
  refused("--help >/dev/full", "stdout: not all of the output could be written");
  refused("--size 8 --show /proc/x.html", "--show /proc/x.html: cannot be written");
  refused("--figures x", "--figures works only for the stages");
  refused("--out C.npy", "--out: make try checks C and does not save it");
  refused("--registers $'\\e[31m'", "--registers \\x1b[31m: not a register count");
}

}  // namespace attempt
