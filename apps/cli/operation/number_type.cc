#include "number_type.h"

#include "shell/args.h"

namespace headwise::cli {

void add_dtype_option(const Arguments& arguments, std::string& dtype) {
  arguments.add_choice("--dtype", dtype, {"float32", "bfloat16", "float16"},
                       "round the tensors to this type (default: float32) and "
                       "compute with it; outputs are float32. 16-bit tensors "
                       "are read from .safetensors files");
}

}  // namespace headwise::cli
