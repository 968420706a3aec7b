$(BUILD)/src/page/assets.o: $(wildcard src/page/*.html src/page/*.css src/page/*.js)
