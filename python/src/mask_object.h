// headwise.Mask and headwise.Bias: masks and biases with what keeps their views
// alive.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argument_memory.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/mask.h"

namespace headwise::python {

// The function of headwise that makes a mask, and what returns its arguments:
// NumPy arrays of their own for what the mask looks at.
struct MaskPart {
  const char* function;
  std::function<nb::tuple()> arguments;
};

class MaskObject {
 public:
  MaskObject(const Mask& mask, ArgumentMemory memory, MaskPart part)
      : mask_(mask),
        memory_(std::move(memory)),
        parts_(std::make_shared<std::vector<MaskPart>>(1, std::move(part))) {}
  // Of an array that one call gives: it has no state.
  MaskObject(const Mask& mask, ArgumentMemory memory)
      : mask_(mask), memory_(std::move(memory)) {}

  const Mask& mask() const { return mask_; }
  const ArgumentMemory& memory() const { return memory_; }
  // As in Python: causal() & key_lengths([20, 13]).
  nb::str text() const;
  // [("causal", ()), ...], from which it can be made again.
  nb::list state() const;
  static MaskObject from_state(const nb::list& state);

  friend MaskObject operator&(const MaskObject& a, const MaskObject& b);

 private:
  Mask mask_;
  ArgumentMemory memory_;
  // Which & combines; shared by copies.
  std::shared_ptr<const std::vector<MaskPart>> parts_;
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
