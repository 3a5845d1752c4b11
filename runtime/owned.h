// The only pointer to an object, for members of public headers whose class is declared alone.
//
// Separate from std::unique_ptr because that takes 5 ms of a user's compilation for each class it
// points to (a tuple for its deleter, comparisons, output), and the public headers have twenty.
// Where an Owned is made from an object, moved over or destroyed, the object's class is complete.
#pragma once

#include <cstddef>
#include <memory>

namespace tilewright {

template <typename T>
class Owned {
 public:
  Owned() = default;
  Owned(std::nullptr_t) {}
  explicit Owned(T* object) : object_(object) {}
  template <typename U>
  Owned(std::unique_ptr<U> object) : object_(object.release()) {}
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  Owned& operator=(Owned&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Owned() { reset(); }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(std::nullptr_t) const { return object_ == nullptr; }

  // Gives the object up.
  T* release() {
    T* object = object_;
    object_ = nullptr;
    return object;
  }
  void reset(T* object = nullptr) {
    static_assert(sizeof(T) > 0, "the class must be complete where its object is destroyed");
    T* former = object_;
    object_ = object;
    delete former;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace tilewright
