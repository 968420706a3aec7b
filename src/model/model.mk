# What the compiler makes of the kernels: rules to record, compare and print it.
ARCH ?= $(firstword $(ARCHS))
VARIANT ?=
sass: $(PROGRAM) ## print registers and instructions of a stage's kernels (STAGE=5 VARIANT= ARCH=80; nvcc, cuobjdump)
	./$(PROGRAM) --list --format json | awk -v stages=$(STAGE) -v variant=$(VARIANT) ' \
		BEGIN { split(stages "-" stages, of, "-") } \
		{ key = $$1; value = $$0; sub(/^[^:]*: "?/, "", value); sub(/"?,?$$/, "", value) } \
		key == "\"number\":" { wanted = value + 0 >= of[1] + 0 && value + 0 <= of[2] + 0 } \
		key == "\"variant\":" { named = value == variant } \
		key == "\"default\":" { chosen = variant == "" ? value == "true" : named } \
		key ~ /^"kernel(_any)?":$$/ && wanted && chosen { print value }' | \
		src/model/print_sass.sh $(or $(NVCC),nvcc) $(ARCH)

registers: ## record registers and main loops of every kernel (nvcc)
	src/model/record_kernels.sh $(or $(NVCC),nvcc)

check-registers: ## compare the record with this nvcc's output; other versions may differ
	mkdir -p $(BUILD) && cp src/model/compiled_kernels.inc $(BUILD)/compiled_kernels.inc
	src/model/record_kernels.sh $(or $(NVCC),nvcc) $(BUILD)/compiled_kernels.inc
	diff -I '^//' src/model/compiled_kernels.inc $(BUILD)/compiled_kernels.inc
.PHONY: sass registers check-registers
