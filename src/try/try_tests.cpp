#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "testing/golden.h"
#include "testing/program.h"

namespace attempt {

namespace {

using testing::contains, testing::Output, testing::run;

// A sample program, as make built it beside the tests.
Output try_sample(const std::string& name, const std::string& flags = "") {
  return run((testing::built() / "try" / name).string() + " --device cpu " + flags);
}

}  // namespace

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

TEST_CASE("what nvcc made of a kernel stands beside its counts, as its golden file has it") {
  const testing::Folder folder;
  std::filesystem::copy_file(testing::built() / "try" / "tiled", folder / "tiled");
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const std::string& flags, const std::string& lines) {
    outputs.emplace_back(
        flags, run(folder / "tiled" + " --device cpu --size 32 --trace all " + flags +
                   " 2>&1 | grep -E '" + lines + "'")
                   .out);
  };
  // The output of ptxas from CUDA 13, after c++filt -p. The nearest architecture counts, up to the
  // GPU's.
  folder.write(
      "log",
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'tiled<16u>' for 'sm_75'\n"
      "ptxas info    : Function properties for tiled<16u>\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n"
      "ptxas info    : Compiling entry function 'tiled<16u>' for 'sm_86'\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 1024 bytes smem\n"
      "ptxas info    : Compiling entry function 'tiled<16u>' for 'sm_90a'\n"
      "ptxas info    : Used 33 registers, used 1 barriers, 1024 bytes smem\n");
  folder.write(
      "tiled.registers", run("awk -f src/model/ptxas_registers.awk " + folder / "log").out);
  for (const char* gpu : {"T4", "a100", "rtx4090", "H200"}) {
    add(std::string("--explain --gpu ") + gpu, " x 32 lanes");
  }
  const std::string kernel = "--gpu rtx3090 --explain --section kernel";
  const std::string loads = "nvcc|nan|dynamic|loads in one|may merge";
  add(kernel, loads);
  folder.write("tiled.why_not_compiled", "nvcc does not compile the file: some reason\n");
  add(kernel, loads);
  add("", "note");
  // As nvdisasm writes it.
  const std::string file = std::filesystem::absolute("examples/tiled.cu").string();
  std::string code =
      ".text._Z5tiledILj16EEviiifPKfS1_fPf:\n.L_x_1:\n\t//## File \"" + file + "\", line 26\n";
  for (int i = 0; i < 4; ++i) code += "        /*0000*/                   LDS.128 R4, [R5] ;\n";
  for (int i = 0; i < 16; ++i) code += "        /*0000*/                   LDS R4, [R6] ;\n";
  code += "        /*0000*/              @P0 BRA `(.L_x_1) ;\n        /*0000*/      EXIT ;\n";
  folder.write("tiled.sm_86.sass", code);
  add(kernel, loads);
  add("--gpu rtx3090 --format json", "arrays\": \"As");
  testing::compare_with_golden("try-nvcc", outputs);
}

TEST_CASE("nvcc's output for a file is kept beside the program, or the reason if there is none") {
  const testing::Folder folder;
  const auto script = [&](const std::string& name, const std::string& text) {
    folder.write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  };
  const auto compiled = [&] {
    return run(
        "PATH=/usr/bin:/bin BUILD='" + testing::built().string() +
        "' KERNEL=examples/tiled.cu src/try/try.sh cubins " + folder / "p" + " '86 90a 86' " +
        folder / "nvcc -O3");
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

TEST_CASE("what make try cannot compile is refused in one sentence, as its golden file has it") {
  const testing::Folder folder;
  const std::string file = folder / "a.cu", here = "-I" + folder.path().string();
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const std::string& source) {
    folder.write("a.cu", source + "\n");
    std::string text = compiled(folder, file, "", here).err;
    for (std::size_t at; (at = text.find(file)) != text.npos;) {
      text.replace(at, file.size(), "a.cu");
    }
    outputs.push_back({source, text});
  };
  // What of CUDA is not traced (simulator/cuda/refused.txt).
  const std::string fp8 =
      "#include <cuda_fp8.h>\ntemplate <class T> struct Name;\n"
      "template <> struct Name<__nv_fp8_e4m3> { int value; };\nvoid f(const __nv_fp8_e5m2*) {}\n";
  const std::vector<std::string> sources = {
      "void f(cudaGraphExec_t g) { cudaGraphLaunch(g, 0); }",
      "void f(cudaStream_t s) { cudaStreamEndCapture(s, nullptr); }",
      "void f(cudaMemPool_t* p) { cudaDeviceGetDefaultMemPool(p, 0); }",
      "#include <cub/nowhere.cuh>",
      "#include <cub/device/device_reduce.cuh>\n"
      "void f() { cub::DeviceReduce::Sum(); }",
      "#include <thrust/reduce.h>",
      "#include <cute/tensor.hpp>",
      "#define SIMT_OWN_CURAND\n#include <curand_kernel.h>\n"
      "void f(curandStateMRG32k3a* s) {}",
      "#include <torch/extension.h>",
      "#include <ATen/cuda/CUDAContext.h>",
      "template <class T> __device__ T f(T v) { return v + __shfl_xor(v, 1); }\n"
      "__global__ void k(float* p) { *p = f(*p); }",
      "__global__ void k(unsigned* p) { *p = __vhaddu4(*p, 1); }",
      "#include <cublas_v2.h>\n"
      "void f(cublasHandle_t h, float* x) { cublasSasum(h, 1, x, 1, x); }",
      "#include <cuda.h>\nvoid f() { cuInit(0); }",
      "__global__ void k(cudaTextureObject_t t, float* p) {\n"
      "  *p = tex2D<float>(t, 0, 0);\n}",
      "void f() { struct cudaResourceDesc d; }",
      "template <class T> void f(T* p) { cudaGetDriverEntryPoint(\"x\", p, 0); }\n"
      "void g(void** p) { f(p); }",
      fp8 + "float g(__nv_fp8_e4m3* p) { return float(*p); }",
      fp8 + "void g(float x) { __nv_fp8_e4m3 y(x); }",
      fp8 + "auto g(float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3); }"};
  for (const std::string& source : sources) {
    add(source + "\nint main() { return undeclared; }");
  }
  // A header of -I is not hidden, and what is wrong in it is one sentence, too.
  folder.write("cute/whole.hpp", "inline int whole() { return 0; }\n");
  folder.write("cute/broken.hpp", "#include \"whole.hpp\"\nint broken() { return nobody; }\n");
  add("#include <cute/whole.hpp>\nint main() { return whole(); }");
  add("#include <cute/broken.hpp>\nint main() {}");
  add("__global__ void lonely() {}");
  add("__global__ void k() {}\nint main() {\n  k<<<1, 32>>(); // >>>\n}");
  testing::compare_with_golden("try-compiles", outputs);
  folder.write("a.cu", "#include <cuda/ptx>\nint main() {}\n");  // may be in libcu++'s own header
  CHECK(contains(compiled(folder, file).err, ": libcu++'s functions for PTX are not here; write"));
  // Any other error is the compiler's, whatever the line says.
  folder.write("a.cu", "int main() { return undeclared + cudaMalloc(1); }  // bad_alloc\n");
  CHECK(contains(compiled(folder, file).err, "a.cu:1:21: error: 'undeclared' was not declared"));
  CHECK(contains(
      compiled(folder, folder / "none.cu").err,
      "none.cu: there is no such file, or it cannot be read; give the path of a CUDA file\n"));
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
      "template <class T> struct Name;\n"
      "template <> struct Name<__nv_fp8_e4m3> { int value; };\n"
      "__nv_fp8_e4m3 all[4];\nstatic_assert(sizeof all == 4);\n"
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

TEST_CASE("only programs whose blocks may wait for each other are run as such") {
  const std::string names = "nm -C " + testing::built().string() + "/try/";
  CHECK(!contains(testing::run(names + "tiled").out, "simt::grid_barrier"));
  CHECK(contains(testing::run(names + "stream_k").out, "simt::grid_barrier"));
}

TEST_CASE("random numbers in kernels are NVIDIA's, or have the same distributions and a note") {
  for (const char* name : {"random_numbers", "own_random_numbers"}) {
    for (const char* what : {"walk", "dropout", "kinds", "skips"}) {
      CAPTURE(name + std::string(" ") + what);
      const Output output = try_sample(name, "-- " + std::string(what));
      CAPTURE(output.out);
      CHECK(output.exit_code == 0);
      CHECK(contains(output.out, "PASSED\n"));
      CHECK((
          output.err == "" || contains(output.err, "note: cuRAND's numbers in kernels have the ")));
    }
  }
  const Output own = try_sample("own_random_numbers", "-- shared");
  CHECK(contains(own.err, "toolkit"));
  CHECK(contains(own.err, "share, block (0, 0): race on states"));
  CHECK(own.exit_code == 1);
  const Output unset = try_sample("random_numbers", "-- unset");
  CHECK(contains(unset.err, "from element 0 of states, which nobody has written"));
  CHECK(unset.exit_code == 1);
  const Output walk = try_sample("random_numbers", "-- walk");
  CHECK(contains(walk.out, "3 walk_in_memory         1    330     0         32.0 "));
  CHECK(contains(walk.out, "Audited: "));
}

TEST_CASE("a whole program is explained, drawn and stepped through") {
  const Output explained = try_sample("transpose", "--explain");
  CHECK(contains(explained.out, "<- conflicts"));
  CHECK(contains(explained.out, "How many blocks an SM of H200 holds"));
  const testing::Folder folder;
  const Output shown = try_sample("transpose", "--show " + folder / "page.html");
  CHECK(shown.exit_code == 0);
  CHECK(contains(testing::contents(folder / "page.html"), "transpose&lt;1&gt;"));
  const Output stepped = try_sample("transpose", "--step --print");
  CHECK(contains(stepped.out, "transpose<0>, launch 1 of 2"));
}

TEST_CASE("sums and scans of CUB's own headers run, and a race in them has the call's line") {
  if (!std::filesystem::exists(testing::built() / "try" / "cub")) {
    MESSAGE("skipped: CUB's headers are not beside nvcc");
    return;
  }
  const Output good = try_sample("cub");
  CAPTURE(good.err);
  CHECK(good.exit_code == 0);
  CHECK(good.err == "");
  CHECK(good.out.starts_with("sums 5328 6112, largest 99 99\nbefore [127] 5301, of warp 1 1520\n"));
  CHECK(contains(good.out, "1 sums<true>         1     1     6             4.00          0 "));
  const Output bad = try_sample("cub", "-- bad");
  CHECK(bad.exit_code == 1);
  CHECK(bad.err.starts_with("try: sums<false>, block (0, 0): race on temporary (byte "));
  CHECK(contains(bad.err, " (called on line 22) and thread (32, 0) stores on line "));
  CHECK(std::count(bad.err.begin(), bad.err.end(), '\n') == 1);
}

TEST_CASE("ncu's counts stand beside those of a whole program's kernels") {
  const testing::StrictJson json(try_sample("transpose", "--trace all --format json").out);
  const std::string csv = (testing::built() / "program_tests.csv").string();
  const std::map<std::string, std::string> keys = {
      {"smsp__sass_inst_executed_op_global_ld.sum", "gmem_load_requests"},
      {"smsp__sass_inst_executed_op_global_st.sum", "gmem_store_requests"},
      {"smsp__sass_inst_executed_op_shared_st.sum", "smem_store_requests"},
      {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "smem_store_wavefronts"},
      {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", "gmem_load_sectors"},
      {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", "gmem_store_sectors"}};
  // The first kernel of two has as many load requests as the trace says, and `more`.
  const auto compared = [&](int more) {
    std::ofstream file(csv);
    file << R"("ID","Kernel Name")";
    std::vector<std::string> metrics;
    std::istringstream names(profile::ncu_metrics("counts"));
    for (std::string name; std::getline(names, name, ',');) {
      metrics.push_back(name);
      file << ",\"" << name << "\"";
    }
    for (const int kernel : {0, 1}) {
      file << "\n\"" << kernel << "\",\"void transpose<(int)" << kernel << ">(const float *)\"";
      for (const std::string& metric : metrics) {
        const auto key = keys.find(metric);
        std::int64_t value = 0;
        if (key != keys.end()) {
          value =
              std::stoll(json.values.at("stages." + std::to_string(kernel) + "." + key->second));
        }
        const bool changed = kernel == 0 && metric == keys.begin()->first;
        file << ",\"" << value + (changed ? more : 0) << "\"";
      }
    }
    file << "\n";
    file.close();
    return try_sample("transpose", "--trace all --ncu " + csv);
  };
  const Output equal = compared(0);
  CHECK(equal.exit_code == 0);
  CHECK(contains(equal.out, "kernel 1: transpose<0>\n"));
  CHECK(contains(equal.out, "  LDG requests  "));
  CHECK(equal.out.find(" ≠\n") == std::string::npos);
  const Output different = compared(1);
  CHECK(different.exit_code == 1);
  CHECK(contains(different.out, " 1                 ≠\n"));
  std::filesystem::remove(csv);
  CHECK(
      try_sample("transpose", "--launches 2 --ncu " + csv).err ==
      "try: --ncu: of each kernel the first launch is compared; leave --launches out\n");
}

}  // namespace attempt
