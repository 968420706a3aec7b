$(call OBJECTS,src/show/page/page.cpp): $(wildcard src/show/page/*.html src/show/page/*.css src/show/page/*.js)
