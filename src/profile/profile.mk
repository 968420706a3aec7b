# make profile STAGE=5 SIZE=1000, or M=251 N=509 K=127, or SHAPES=40 SEED=1; make ceilings SIZE=4096.
PROBLEM = --stage $(or $(filter-out all,$(STAGE)),1-) $(if $(VARIANT),--variant $(VARIANT)) \
	$(if $(or $(SIZE),$(M)$(N)$(K)),,--size $(1)) $(if $(SIZE),--size $(SIZE)) \
	$(if $(M),--m $(M)) $(if $(N),--n $(N)) $(if $(K),--k $(K))

ifeq ($(KERNEL),)
profile: $(PROGRAM) ## print ncu's counts beside the traced ones (GPU; STAGE=, SIZE=, or M= N= K=; or SHAPES=40 SEED=1; or KERNEL=f.cu)
	$(if $(SHAPES)$(SEED),src/profile/profile.sh shapes ./$(PROGRAM) '$(SHAPES)' '$(or $(SEED),1)' $(FLAGS),\
	src/profile/profile.sh counts ./$(PROGRAM) $(call PROBLEM,256) $(FLAGS))
endif

ceilings: $(PROGRAM) ## print ncu's unit utilization beside the ceilings (GPU)
	src/profile/profile.sh units ./$(PROGRAM) $(call PROBLEM,4096) $(FLAGS)

caches: $(PROGRAM) ## print ncu's hit rates of L1 and L2 (GPU; FLAGS="--stage 5", or an experiment)
	src/profile/profile.sh caches ./$(PROGRAM) $(or $(FLAGS),--experiment swapped-grid)

coarsening-loads: $(PROGRAM) ## print ncu's loads for stage 4's sweep beside the traced and the compiled ones (GPU)
	src/profile/profile.sh loads ./$(PROGRAM)
.PHONY: profile ceilings caches coarsening-loads
