# A stand-alone program: it may use OpenBLAS, which the main program does not need.
BENCHED := $(call OBJECTS,$(filter-out %_tests.cpp src/bench/bench.cpp,$(wildcard src/bench/*.cpp)))
PROGRAMS += $(BUILD)/bench_speeds
$(BUILD)/bench_speeds: $(BUILD)/src/bench/bench.o $(BENCHED) $(THE_GPU) $(INSTRUMENT)
$(BUILD)/tests: $(BENCHED)
bench: $(PROGRAM) $(BUILD)/bench_speeds ## time the ladder, cuBLAS, OpenMP and OpenBLAS (SIZES="1024 2048", FORMAT=csv)
	$(BUILD)/bench_speeds ./$(PROGRAM) $(BUILD)/bench.csv
plot: ## draw the times of make bench as SVG, with gnuplot (CSV=build/bench.csv, PLOT=build/plot.svg)
	src/bench/plot.sh "$${CSV:-$(BUILD)/bench.csv}" "$${PLOT:-$(BUILD)/plot.svg}"
test-parts: $(if $(HARDENED),,$(BUILD)/bench_speeds)
.PHONY: bench plot
