// Scratch memory of floats on a 64-byte boundary, left as it is found.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace headwise {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws std::bad_alloc.
  explicit AlignedBuffer(std::size_t count)
      : memory_(static_cast<float*>(
            ::operator new (count * sizeof(float), std::align_val_t{64}))) {}

  float* data() const { return memory_.get(); }

 private:
  struct Delete {
    void operator()(float* memory) const {
      ::operator delete (memory, std::align_val_t{64});
    }
  };
  std::unique_ptr<float, Delete> memory_;
};

}  // namespace headwise
