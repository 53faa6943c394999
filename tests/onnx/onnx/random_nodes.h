// A random node of any operator that headwise runs, with inputs that fit it.
#pragma once

#include "onnx/model_maker.h"

namespace headwise::testing_support {

void add_random_node(ModelMaker& maker);

}  // namespace headwise::testing_support
