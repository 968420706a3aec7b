# Several processes need MPI, which is used if its compiler wrapper is found (MPICC= builds without).
# NCCL is found by gpus.cu itself: its header when that is compiled, its library when it runs.
MPICC ?= $(call found,mpicc)
MPI := $(if $(MPICC),$(shell $(MPICC) -show))
SOURCES += src/cluster/$(if $(MPI),mpi,alone).cpp
LIBRARIES += $(if $(MPI),-Wl$(comma)--as-needed $(filter -L% -l% -Wl%,$(MPI)))
MPI_FLAGS := $(if $(MPI),$(patsubst -I%,-isystem %,$(filter -I%,$(MPI))) -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
$(BUILD)/src/cluster/mpi.o: private CXXFLAGS += $(MPI_FLAGS)
$(BUILD)/src/cluster/mpi.o: private HEADERS :=

# The products in the reports of record-gpus, which the program knows.
REPORTS := $(wildcard $(RESULTS)/gpus-*.txt)
$(BUILD)/recorded_products.inc: src/cluster/recorded_products.awk $(RESULTS) $(REPORTS)
	mkdir -p $(@D)
	awk -f $< $(REPORTS) /dev/null > $(NEW) && mv $(NEW) $@
$(BUILD)/src/cluster/recorded.o: $(BUILD)/recorded_products.inc
check-odr: $(BUILD)/recorded_products.inc

# With PREBUILT=./gemm_steps nothing is built, and with SECONDS_LEFT=500 nothing is begun after so many.
record-gpus: $(if $(PREBUILT),,$(PROGRAM)) ## record the products on several GPUs in results/
	src/cluster/record.sh $(or $(PREBUILT),./$(PROGRAM)) $(SECONDS_LEFT)
.PHONY: record-gpus
