# A stand-alone program: it may use OpenBLAS, which the main program does not need.
PROGRAMS += $(BUILD)/bench_speeds
$(BUILD)/bench_speeds: $(BUILD)/src/bench/bench.o $(THE_GPU) $(INSTRUMENT)
# Compiled for this CPU's vector instructions, to show what it can do.
$(BUILD)/src/bench/bench.o: private CXXFLAGS += -O3 -march=native
$(BUILD)/src/bench/bench.o: private HEADERS :=
bench-cpu: $(BUILD)/bench_speeds ## measure the steps from the serial loop to openmp_gemm
	$(BUILD)/bench_speeds steps
bench: $(PROGRAM) $(BUILD)/bench_speeds ## time the ladder, cuBLAS, OpenMP and OpenBLAS (SIZES="1024 2048", FORMAT=csv)
	$(BUILD)/bench_speeds ./$(PROGRAM) $(BUILD)/bench.csv
plot: ## draw the times of make bench as SVG, with gnuplot (CSV=build/bench.csv, PLOT=build/plot.svg)
	src/bench/plot.sh "$${CSV:-$(BUILD)/bench.csv}" "$${PLOT:-$(BUILD)/plot.svg}"
test-parts: $(if $(HARDENED),,$(BUILD)/bench_speeds)
.PHONY: bench bench-cpu plot
