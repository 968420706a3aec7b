book: $(PROGRAM) ## write the lesson as a folder of web pages, without answers for lecturers (ANSWERS=1: with them; BOOK=folder)
	src/school/book/book.sh "$${BOOK:-$(BUILD)/book$(if $(filter 1,$(ANSWERS)),-answers)}" ./$(PROGRAM) "$$ANSWERS"
.PHONY: book
