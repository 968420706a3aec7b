# The headers of CUDA that need no file of their own. Another make may be reading them, so each is
# replaced as a whole, and only if it has changed. Others, of an earlier list, would hide a user's.
$(BUILD)/headers.made: src/simulator/cuda/headers.txt src/simulator/cuda/headers.awk
	mkdir -p $(BUILD)/headers $(BUILD)/headers.new$(MAKE_PID)
	awk -f src/simulator/cuda/headers.awk $< | (cd $(BUILD)/headers.new$(MAKE_PID) && sh)
	cd $(BUILD)/headers && find . -type f | while read -r name; do \
		[ -e ../headers.new$(MAKE_PID)/$$name ] || rm -f $$name; done
	cd $(BUILD)/headers.new$(MAKE_PID) && find . -type f | while read -r name; do \
		cmp -s $$name ../headers/$$name || { mkdir -p ../headers/$${name%/*} && mv -f $$name ../headers/$$name; }; done
	rm -r $(BUILD)/headers.new$(MAKE_PID) && touch $@
