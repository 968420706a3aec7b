# The GPU part is built if there is a GPU, for that GPU. Otherwise it is built if ARCHS names
# architectures, or by `make gpu` for those of common classroom GPUs (oldest first; Hopper's own
# instructions need the suffix a; the newest is also kept as PTX).
ifeq ($(origin NVCC),undefined)
NVCC := $(or $(call found,nvcc),$(call found,/usr/local/cuda/bin/nvcc))
endif
PRESENT := $(if $(call found,nvidia-smi),$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
	grep -E '^[0-9]+\.[0-9]+$$' | tr -d . | sort -nu | sed 's/^90$$/90a/'))
ARCHS ?= $(or $(PRESENT),75 80 86 90a)
HAS_GPU := $(and $(NVCC),$(or $(PRESENT),$(filter command,$(origin ARCHS)),$(filter gpu,$(MAKECMDGOALS))))

# The kernels for the GPU, those of the experiments, and the main program with and without nvcc. NVML
# is found by dlopen, so the sensors are compiled everywhere.
CUDA := $(patsubst %/bin/nvcc,%,$(realpath $(call found,$(NVCC))))
comma := ,
# The kernels of one file are compiled on all cores.
SPLIT := $(if $(HAS_GPU),$(if $(findstring --split-compile,$(shell $(NVCC) --help)),--split-compile=0))
NEWEST := $(patsubst %a,%,$(lastword $(ARCHS)))
NVCC_INCLUDES := -Xcompiler=-iquote,.,-iquote,src,-iquote,$(BUILD)
# nvcc optimizes kernels without being asked. PTX is only for GPUs that are not in this machine.
NVCCFLAGS := -std=c++20 $(NVCC_INCLUDES) -lineinfo \
	$(foreach arch,$(ARCHS),-gencode arch=compute_$(arch),code=sm_$(arch)) \
	$(if $(filter-out $(PRESENT),$(ARCHS)),-gencode arch=compute_$(NEWEST)$(comma)code=compute_$(NEWEST)) --threads 0 $(SPLIT) -ccbin $(CXX) \
	-Xcompiler=-Wall,-Wextra,-fopenmp$(if $(filter 1,$(WERROR)),$(comma)-Werror) $(EXTRA_NVCCFLAGS)
gpu.flags = $(NVCC) $(NVCCFLAGS)

GPU_PARTS := $(BUILD)/gpu/src/lab/gpu/gpu.o $(BUILD)/gpu/src/lab/gpu/aligned_copies.o
ifneq ($(HAS_GPU),)
THE_GPU := $(GPU_PARTS)
SEVERAL_GPUS := $(BUILD)/gpu/src/cluster/gpus.o
MAIN := $(BUILD)/gpu/gemm_steps.o $(THE_GPU) $(SEVERAL_GPUS)
FIRST_MAIN := $(BUILD)/gpu/$(if $(filter-out 90a,$(ARCHS)),gemm_steps,src/cli/first_table).o $(THE_GPU)
OF_EXPERIMENTS := $(BUILD)/experiments_gpu.o
WITHOUT_MAIN := $(BUILD)/gemm_steps_gpu_without_main.o $(OF_EXPERIMENTS) $(THE_GPU) $(SEVERAL_GPUS)
LIBRARIES := -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 -lcublas -lcudart_static -ldl -lrt -lpthread
else
THE_GPU := $(call OBJECTS,src/lab/gpu/absent.cpp)
SEVERAL_GPUS := $(call OBJECTS,src/cluster/no_gpus.cpp)
FIRST_MAIN := $(or $(HARDENED),$(BUILD))/gemm_steps_main.o $(THE_GPU)
MAIN := $(FIRST_MAIN) $(SEVERAL_GPUS)
WITHOUT_MAIN := $(THE_GPU) $(SEVERAL_GPUS)
LIBRARIES := -ldl
endif

$(GPU_PARTS) $(SEVERAL_GPUS): private NVCCFLAGS += -O3
$(BUILD)/gpu/%.o: %.cu $(BUILD)/gpu.flags
	$(call say,nvcc,$< ($(ARCHS)))
	mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/gemm_steps_gpu_without_main.o: $(BUILD)/gpu/gemm_steps.o
	objcopy --localize-symbol=main $< $@
# Both files have the kernels that are no templates; one definition of each is linked.
$(BUILD)/experiments_gpu.o: $(BUILD)/gpu/src/experiments/kernels.o
	objcopy --weaken $< $@

gpu-parts: $(FIRST_MAIN) $(addprefix $(BUILD)/,gpu/src/cluster/gpus.o gpu/gemm_steps.o experiments_gpu.o)
gpu: $(PROGRAM) ## build the GPU part on a machine without a GPU (ARCHS="80 90a")
.PHONY: gpu gpu-parts
