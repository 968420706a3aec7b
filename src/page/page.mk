$(BUILD)/src/page/page.o: $(wildcard src/page/*.html src/page/*.css src/page/*.js)
