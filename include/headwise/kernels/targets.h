// The instruction sets that this processor offers to the kernels.
#pragma once

#include <string>
#include <vector>

namespace headwise {

// Their names in lower case, as Highway calls them ("avx3", "avx2", ...), the
// best first.
std::vector<std::string> available_targets();

}  // namespace headwise
