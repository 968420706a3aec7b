book: $(PROGRAM) ## write the walkthrough, exercises and TEACHING.md as a folder of pages (BOOK=folder; ANSWERS=1: with answers)
	src/book/book.sh '$(or $(BOOK),$(BUILD)/book$(if $(filter 1,$(ANSWERS)),-answers))' ./$(PROGRAM) '$(ANSWERS)'
.PHONY: book
