$(BUILD)/src/show/page/page.o: $(wildcard src/show/page/*.html src/show/page/*.css src/show/page/*.js)
