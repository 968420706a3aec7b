# The kernels for the GPU, with those of the experiments, and the main program with and without
# nvcc. NVML is found by dlopen, so the sensors are compiled everywhere.
ifneq ($(NVCC),)
CUDA := $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC))))
endif
comma := ,
NEWEST := $(patsubst %a,%,$(lastword $(ARCHS)))
NVCC_INCLUDES := -Xcompiler=-iquote,.,-iquote,src,-iquote,$(BUILD)
NVCCFLAGS := -std=c++20 -O3 $(NVCC_INCLUDES) -lineinfo \
	$(foreach arch,$(ARCHS),-gencode arch=compute_$(arch),code=sm_$(arch)) \
	-gencode arch=compute_$(NEWEST),code=compute_$(NEWEST) --threads 0 -ccbin $(CXX) \
	-Xcompiler=-Wall,-Wextra,-fopenmp$(if $(filter 1,$(WERROR)),$(comma)-Werror)
gpu.flags = $(NVCC) $(NVCCFLAGS)

GPU_PARTS := $(BUILD)/src/lab/gpu/gpu.o $(BUILD)/src/lab/gpu/aligned_copies.o
ifneq ($(HAS_GPU),)
THE_GPU := $(GPU_PARTS)
SEVERAL_GPUS := $(BUILD)/src/cluster/gpus.o
MAIN := $(BUILD)/gemm_steps_gpu.o $(THE_GPU) $(SEVERAL_GPUS)
WITHOUT_MAIN := $(BUILD)/gemm_steps_gpu_without_main.o $(THE_GPU) $(SEVERAL_GPUS)
LIBRARIES := -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 -lcublas -lcudart_static -ldl -lrt -lpthread
else
THE_GPU := $(call OBJECTS,src/lab/gpu/absent.cpp)
SEVERAL_GPUS := $(call OBJECTS,src/cluster/no_gpus.cpp)
MAIN := $(BUILD)/gemm_steps_main.o $(THE_GPU) $(SEVERAL_GPUS)
WITHOUT_MAIN := $(THE_GPU) $(SEVERAL_GPUS)
LIBRARIES := -ldl
endif

FROM_CUDA := $(GPU_PARTS) $(BUILD)/src/cluster/gpus.o
$(FROM_CUDA): $(BUILD)/%.o: %.cu $(BUILD)/gpu.flags
$(BUILD)/gemm_steps_gpu.o: src/lab/experiments/kernels.cu $(BUILD)/changed_kernels.cuh $(BUILD)/gpu.flags
$(FROM_CUDA) $(BUILD)/gemm_steps_gpu.o:
	$(call say,nvcc,$< ($(ARCHS)))
	mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(DEPENDENCIES) -c $< -o $(NEW) $(KEEP)
$(BUILD)/gemm_steps_gpu_without_main.o: $(BUILD)/gemm_steps_gpu.o
	objcopy --localize-symbol=main $< $@

gpu: $(PROGRAM) ## build the GPU part on a machine without a GPU (ARCHS="80 90a")
.PHONY: gpu
