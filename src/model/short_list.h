// A list of at most `most` elements, stored in place: splitting a request must not allocate,
// because a trace does it for every request.
#pragma once

#include <array>
#include <cstddef>

namespace model {

template <class T, std::size_t most>
class ShortList {
 public:
  ShortList() {}  // the elements stay uninitialized

  void push_back(const T& element) { elements_[size_++] = element; }
  void insert(T* before, const T& element) {
    for (T* at = end(); at != before; --at) *at = at[-1];
    *before = element;
    ++size_;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return elements_[i]; }
  const T& operator[](std::size_t i) const { return elements_[i]; }
  T* begin() { return elements_.data(); }
  T* end() { return elements_.data() + size_; }
  const T* begin() const { return elements_.data(); }
  const T* end() const { return elements_.data() + size_; }

 private:
  std::array<T, most> elements_;  // the first size_ of them are used
  std::size_t size_ = 0;
};

}  // namespace model
