// Whole programs in make try: examples/ with a main.
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
#include "testing/pattern.h"
#include "testing/program.h"

namespace attempt {
namespace {

using testing::contains, testing::Output;

Output try_program(const std::string& name, const std::string& flags = "") {
  return testing::run((testing::built() / "try" / name).string() + " " + flags);
}

Output ending(const std::string& how, const std::string& flags = "") {
  return try_program("endings", flags + " -- " + how);
}

}  // namespace

TEST_CASE("a whole program runs as it is, and each of its kernels has a row") {
  const Output output = try_program("transpose");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(output.err == "");
  CHECK(output.out.starts_with(
      "0 of 190000 elements are wrong\nprogram  transpose: its main has ended with 0\n"));
  CHECK(contains(
      output.out, "1 transpose<0>   1     4     4            ~4.30      ~14.5        100"));
  CHECK(contains(
      output.out, "2 transpose<1>   1     4     4            ~4.30          0        100"));
  CHECK(contains(
      output.out,
      "of the first blocks of 2 launches were announced to the tracer, and no others."));
}

TEST_CASE("all blocks of every launch run, traced or not, on one set of device variables") {
  for (const char* flags :
       {"", "-- 5000 4", "--trace all -- 999", "--launches all -- 100 20", "--hazards off"}) {
    CAPTURE(std::string(flags));
    const Output output = try_program("reduction", flags);
    CAPTURE(output.out);
    CAPTURE(output.err);
    CHECK(output.exit_code == 0);
    CHECK(output.out.starts_with("the sum is "));
  }
}

TEST_CASE("only programs whose blocks may wait for each other are run as such") {
  const std::string names = "nm -C " + testing::built().string() + "/try/";
  CHECK(!contains(testing::run(names + "tiled").out, "simt::grid_barrier"));
  CHECK(contains(testing::run(names + "stream_k").out, "simt::grid_barrier"));
}

TEST_CASE("what nvcc or older compilers take, and g++ does not, is made to compile") {
  const Output output = try_program("older_programs");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(output.out.starts_with(
      "the value of constants is 5\nthe value of members is 9\nthe value of minima is 29.5\n"
      "the value of others is 11\n"));
}

TEST_CASE("random numbers in kernels are NVIDIA's, or have the same distributions and a note") {
  for (const char* name : {"random_numbers", "own_random_numbers"}) {
    for (const char* what : {"walk", "pi", "dropout", "kinds", "skips"}) {
      CAPTURE(name + std::string(" ") + what);
      const Output output = try_program(name, "-- " + std::string(what));
      CAPTURE(output.out);
      CHECK(output.exit_code == 0);
      CHECK(contains(output.out, "PASSED\n"));
      CHECK((
          output.err == "" || contains(output.err, "note: cuRAND's numbers in kernels have the ")));
    }
  }
  const Output own = try_program("own_random_numbers", "-- shared");
  CHECK(contains(own.err, "toolkit"));
  CHECK(contains(own.err, "share, block (0, 0): race on states"));
  CHECK(own.exit_code == 1);
  const Output unset = try_program("random_numbers", "-- unset");
  CHECK(contains(unset.err, "from element 0 of states, which nobody has written"));
  CHECK(unset.exit_code == 1);
  const Output walk = try_program("random_numbers", "-- walk");
  CHECK(contains(walk.out, "3 walk_in_memory  1    330     0         32.0 "));
  CHECK(contains(walk.out, "Audited: "));
}

TEST_CASE("every form of a launch reaches the kernel that C++ chooses") {
  const Output output = try_program("launches");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(output.out.starts_with("1025<<<1024>>> k<<<1, 32>>>(values) k<<<1>>>(\"x\")\n"));
  for (const char* row :
       {"math::details::change<int, true>  2 ", "math::overloaded              1,001 ",
        "math::overloaded                  1 ", "doubled                           3 ",
        "copied                            6 ", "within                            1 ",
        "reversed                          1 "}) {
    CAPTURE(std::string(row));
    CHECK(contains(output.out, row));
  }
}

TEST_CASE("a program's exit code is that of make try, from main or from exit()") {
  const Output returns = ending("returns");
  CHECK(returns.exit_code == 3);
  CHECK(returns.out.starts_with("destroyed\nprogram  endings: its main has ended with 3\n"));
  CHECK(contains(returns.out, "It has launched no kernel."));
  const Output exits = ending("exits");
  CHECK(exits.exit_code == 4);
  CHECK(exits.out.starts_with("unfinishedprogram  endings: its main has ended with 4\n"));
  CHECK(contains(exits.out, "1 stored"));
  CHECK(ending("empty").exit_code == 0);
  const Output prints = ending("prints");
  CHECK(std::count(prints.out.begin(), prints.out.end(), '\n') > 100000);
}

TEST_CASE("a kernel may print a text in memory from cudaMalloc") {
  const Output output = ending("says-a-text");
  CHECK(output.exit_code == 0);
  CHECK(output.out.starts_with("hello\n"));
}

TEST_CASE("a program that does not end shows the kernels that were traced until then") {
  const Output output = ending("loops-after-a-kernel", "--limit 1");
  CHECK(output.exit_code == 1);
  CHECK(contains(output.err, "examples/endings.cu:69: the program is still running after 1 s"));
  CHECK(output.out.starts_with(
      "program  endings: it has not ended; these kernels were traced until then\n"));
  CHECK(contains(output.out, "1 stored"));
}

TEST_CASE("a program may sleep for longer than its limit, which counts processor time") {
  const Output output = ending("sleeps", "--limit 0.4");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "has slept\n"));
}

TEST_CASE("when half of the time is over only traced blocks run, so that all kernels are seen") {
  const Output output = ending("takes-too-long", "--limit 2");
  CHECK(output.exit_code == 0);
  CHECK(
      output.out.starts_with("and ends\ndestroyed\nprogram  endings: its main has ended with 0\n"));
  CHECK(contains(output.out, "1 empty "));
  CHECK(contains(output.out, "2 stored "));
  CHECK(output.err.starts_with(
      "try: note: after 1 s of processor time, half of --limit, only blocks to be traced ran"));
  CHECK(output.err.ends_with(
      "the program was cut short; if it finds its results wrong, this may be the reason\n"));
}

TEST_CASE("only the beginning of a block that takes too long is traced") {
  const Output output = ending("turns", "--limit 2");
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "1 turns "));
  CHECK(contains(output.out, "4.00"));
  CHECK(contains(
      output.err,
      "try: note: turns: only the beginning of its blocks was traced, so the counts per thread are "
      "too small\n"));
}

TEST_CASE("a hazard that incomplete data may have caused is not reported") {
  const Output output = ending("takes-too-long 1", "--limit 2");
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "and ends"));
  CHECK(contains(
      output.err, "stored: has a hazard after that time, which incomplete data may have caused\n"));
}

TEST_CASE("a launch that a GPU refuses does not run, and is a note") {
  const Output output = ending("too-many-threads");
  CHECK(output.exit_code == 0);
  CHECK(output.err.starts_with("try: note: stored: a block of 2048 x 1 x 1 threads"));
}

TEST_CASE("the first launch of each kernel is traced, or as many as --launches says") {
  CHECK(ending("second").exit_code == 0);
  const Output all = ending("second", "--launches all");
  CHECK(all.exit_code == 1);
  CHECK(contains(all.err, "accesses element 32 of values"));
  CHECK(ending("second", "--launches 2").exit_code == 1);
  for (const char* wrong : {"0", "-1", "some", ""}) {
    const Output output = ending("second", "--launches '" + std::string(wrong) + "'");
    CHECK(output.exit_code == 2);
    CHECK(contains(output.err, "not a number of launches"));
  }
}

TEST_CASE("--kernels prints only the rows with these numbers") {
  const std::string both = try_program("transpose", "--kernels 1,2").out;
  CHECK(both == try_program("transpose", "").out);
  const std::string second = try_program("transpose", "--kernels 2").out;
  CHECK(contains(second, "\n2 transpose<1> "));
  CHECK_FALSE(contains(second, "\n1 transpose<0> "));
  CHECK(contains(try_program("transpose", "--kernels 3").err, "the table has no row of that"));
  for (const char* wrong : {"0", "-1", "1,", "transpose<0>", ""}) {
    const Output output = try_program("transpose", "--kernels '" + std::string(wrong) + "'");
    CHECK(output.exit_code == 2);
    CHECK(contains(output.err, "not rows of the table"));
  }
}

TEST_CASE("a report for a machine has the program's own exit code") {
  const Output seven = ending("exits", "--format json");
  CAPTURE(seven.out);
  CHECK(contains(
      seven.out, "\"ran\": {\"file\": \"endings\", \"exit_code\": " +
                     std::to_string(seven.exit_code) + ", \"stopped_by_kernel\": false}"));
}

TEST_CASE("a report for a machine is the only text on stdout") {
  const Output output = try_program("transpose", "--format json");
  CHECK(output.exit_code == 0);
  CHECK(output.out.starts_with("{"));
  CHECK(output.err == "0 of 190000 elements are wrong\n");
}

TEST_CASE("a whole program is explained, drawn and stepped through") {
  const Output explained = try_program("transpose", "--explain");
  CHECK(contains(explained.out, "<- conflicts"));
  CHECK(contains(explained.out, "How many blocks an SM of H200 holds"));
  const testing::Folder folder;
  const Output shown = try_program("transpose", "--show " + folder / "page.html");
  CHECK(shown.exit_code == 0);
  CHECK(contains(testing::contents(folder / "page.html"), "transpose&lt;1&gt;"));
  const Output stepped = try_program("transpose", "--step --print");
  CHECK(contains(stepped.out, "transpose<0>, launch 1 of 2"));
}

TEST_CASE("--keep-going leaves out a kernel with a fatal hazard, and counts the later ones") {
  const Output going = try_program("keeps_going", "--keep-going");
  CAPTURE(going.err);
  CHECK(going.exit_code == 1);
  CHECK(going.out.starts_with(
      "the last value is 62\nprogram  keeps_going: its main has ended with 0\n"));
  CHECK(contains(going.out, "1 filled         2     0 "));
  CHECK(contains(going.out, "3 doubled        1     1 "));
  for (const char* sentence :
       {"try: past_the_end, block (0, 0): thread (31, 0) accesses element 32 of values on line 10",
        "try: examples/keeps_going.cu:13: calls_the_host, block (0, 0, 0), thread (0, 0, 0): it "
        "calls rand",
        "try: note: past_the_end: did not end, and is left out from then on; what the program "
        "computed since then may be wrong\n"}) {
    CAPTURE(std::string(sentence));
    CHECK(contains(going.err, sentence));
  }
  const Output stopped = try_program("keeps_going");
  CHECK(stopped.exit_code == 1);
  CHECK(stopped.out.starts_with("program  keeps_going: stopped at a kernel's error\n"));
  CHECK(!contains(stopped.out, "doubled"));
  const Output product = try_program("tiled", "--keep-going");
  CHECK(product.exit_code == 2);
  CHECK(product.err == "try: --keep-going works only for a file with a main; leave it out\n");
}

TEST_CASE("several threads of the host may launch kernels") {
  // With one place for the stream of all threads, about every third run saw a race that was none.
  for (int turn = 0; turn < 5; ++turn) {
    const Output output = try_program("host_threads");
    CAPTURE(output.err);
    CHECK(output.exit_code == 0);
    CHECK(output.out.starts_with("0 of 8000 elements are wrong\n"));
    CHECK(contains(output.out, "1 add_one      800 "));
  }
}

TEST_CASE("a kernel that takes an object by reference gets the host's own") {
  const Output output = try_program("by_reference");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(output.out.starts_with(
      "counted 64, read 64\ncudaSuccess: 200 of 200 blocks have seen all\n"));
}

TEST_CASE("a thread that goes on from a barrier runs ahead of those that still wait there") {
  const Output output = try_program("barrier_copies", "--limit 20");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(output.err == "");
  CHECK(output.out.starts_with("the first thread counts 4096, the last one 4096\n"));
  CHECK(contains(output.out, "1 add_up         1    32  4,096"));
}

TEST_CASE("counts name the file of a line that is not in the user's own") {
  const Output output = try_program("races", "--file examples/races.cu --explain");
  CHECK(contains(output.out, "\nWhat each line of races.cuh asks of memory"));
  CHECK(contains(output.out, "\nWhat each line asks of memory"));
  CHECK(contains(output.out, ", in line 3\n"));                // of the header's kernel
  CHECK(contains(output.out, ", in line 8\n"));                // of races.cu
  CHECK(contains(output.out, ", in line 11 of races.cuh\n"));  // of a kernel in races.cu
  const Output json = try_program("races", "--file examples/races.cu --format json");
  CHECK(contains(json.out, "\"helper_line\": 11, \"helper_file\": \"races.cuh\""));
}

TEST_CASE("sums and scans of CUB's own headers run, and a race in them has the call's line") {
  if (!std::filesystem::exists(testing::built() / "try" / "cub")) {
    MESSAGE("skipped: CUB's headers are not beside nvcc");
    return;
  }
  const Output good = try_program("cub");
  CAPTURE(good.err);
  CHECK(good.exit_code == 0);
  CHECK(good.err == "");
  CHECK(good.out.starts_with("sums 5328 6112, largest 99 99\nbefore [127] 5301, of warp 1 1520\n"));
  CHECK(contains(good.out, "1 sums<true>     1     1     6             4.00          0 "));
  const Output bad = try_program("cub", "-- bad");
  CHECK(bad.exit_code == 1);
  CHECK(bad.err.starts_with("try: sums<false>, block (0, 0): race on temporary (byte "));
  CHECK(contains(bad.err, " (called on line 22) and thread (32, 0) stores on line "));
  CHECK(std::count(bad.err.begin(), bad.err.end(), '\n') == 1);
}

TEST_CASE("main runs in the folder of its file, where the program's data are") {
  CHECK(ending("reads-its-file").exit_code == 1);
  const Output output = testing::run(
      (testing::built() / "try" / "endings").string() +
      " --file examples/endings.cu -- reads-its-file");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  CHECK(output.out.starts_with("// A whole program that ends as its argument says.\n"));
  CHECK(contains(output.out, "1 stored"));
}

TEST_CASE("a kernel has the static shared memory of every function that it can call") {
  const Output output = try_program("static_shared", "--gpu H200");
  CAPTURE(output.err);
  CHECK(output.exit_code == 0);
  const auto occupancy_of = [&](const std::string& kernel) {
    const auto found = testing::first_match(output.out, " " + kernel + " +1 .* (\\d+)\n");
    return found ? std::stoi(found[1]) : 0;
  };
  for (const char* kernel :
       {"plain", "function", "levels", "inlined", "member", "lambda", "passed", "pointer",
        "by_table", "file", "templated<float>", "not_called", "apart"}) {
    CAPTURE(kernel);
    CHECK(occupancy_of(kernel) == 63);
  }
  CHECK(occupancy_of("only_small") == 100);
  CHECK(occupancy_of("nothing") == 100);

  const Output refused = try_program("static_shared", "-- too_much");
  CHECK(contains(
      refused.err,
      "twice: the __shared__ arrays of the kernel and of what it calls take 88000 "
      "bytes; nvcc allows 49152, and more only as dynamic shared memory"));
}

TEST_CASE("ncu's counts stand beside those of a whole program's kernels") {
  const testing::StrictJson json(try_program("transpose", "--trace all --format json").out);
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
    return try_program("transpose", "--trace all --ncu " + csv);
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
      try_program("transpose", "--launches 2 --ncu " + csv).err ==
      "try: --ncu: of each kernel the first launch is compared; leave --launches out\n");
}

TEST_CASE("what a kernel does wrong is named with its own lines and remedy, and right twins pass") {
  const std::pair<const char*, const char*> sentences[] = {
      {"0",
       "race on s (byte 64): thread (0, 0) loads on line 10 (called on line 18) and thread "
       "(16, 0) stores on line 10 (called on line 18) with no barrier between them; put a "
       "__syncwarp()"},
      {"1",
       "loads on line 26 and thread (0, 0) stores on line 26 with no barrier between them; each "
       "of these threads changes the old value, so use an atomic, such as atomicAdd()"},
      {"3",
       "thread (0, 0) stores on line 36 to d (byte 0) while the asynchronous copy that thread "
       "(0, 0) started on line 32 may still read it; wait for the copy first"},
      {"5",
       "thread (4, 0) stores on line 47 to d (byte 16) a value that depends on a lane which does "
       "not take part in the shuffle on line 44: it is undefined"},
      {"7", "its ldmatrix has no .shared, so 0x"},
      {"9", "try: changes_source, block (0, 0): thread (0, 0) stores on line 36 to d (byte 128)"},
      {"11", "race on d (byte 0): thread (0, 0) stores on line 75 and thread (1, 0)"}};
  for (const auto& [number, sentence] : sentences) {
    CAPTURE(std::string(sentence));
    const Output output = try_program("named_hazards", "-- " + std::string(number));
    CAPTURE(output.err);
    CHECK(output.exit_code == 1);
    CHECK(contains(output.err, sentence));
    CHECK(contains(output.err, "race on") == (number[0] < '3'));
  }
  for (const char* number : {"2", "4", "6", "8", "10", "12"}) {
    const Output output = try_program("named_hazards", "-- " + std::string(number));
    CAPTURE(output.err);
    CHECK(output.exit_code == 0);
    CHECK(output.err.empty() == (std::string(number) != "6"));  // a note
  }
}

}  // namespace attempt
