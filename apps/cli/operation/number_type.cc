#include "number_type.h"

namespace headwise::cli {

OptionRow dtype_option(std::string& dtype) {
  return {"--dtype", &dtype, choice({"float32", "bfloat16", "float16"}),
          "round the tensors to this type (default: float32) and compute with "
          "it; outputs are float32. 16-bit tensors are read from .safetensors "
          "files"};
}

}  // namespace headwise::cli
