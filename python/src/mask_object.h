// headwise.Mask and headwise.Bias: masks and biases with what keeps their views
// alive.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "argument_memory.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/mask.h"

namespace headwise::python {

class MaskObject {
 public:
  MaskObject() = default;  // allows all
  MaskObject(const Mask& mask, ArgumentMemory memory, std::string text)
      : mask_(mask), memory_(std::move(memory)), text_(std::move(text)) {}

  const Mask& mask() const { return mask_; }
  const ArgumentMemory& memory() const { return memory_; }
  // As in Python: causal() & key_lengths(...).
  const std::string& text() const { return text_; }

  friend MaskObject operator&(const MaskObject& a, const MaskObject& b);

 private:
  Mask mask_;
  ArgumentMemory memory_;
  std::string text_;
};

class BiasObject {
 public:
  BiasObject(ArrayArgument array, std::vector<Axis> axes);

  Bias bias() const;
  const ArrayArgument& array() const { return array_; }
  std::span<const Axis> axes() const { return axes_; }

 private:
  ArrayArgument array_;
  std::vector<Axis> axes_;
};

// A headwise.Mask, or an array of truth values with the axes (B, H, Lq, Lkv) or
// (Lq, Lkv).
MaskObject mask_argument(nb::handle value, ArgumentName name,
                         Graph graph = Graph::refused);
// A headwise.Bias, or an array of float32 with those axes.
BiasObject bias_argument(nb::handle value, ArgumentName name, Graph graph);

}  // namespace headwise::python
