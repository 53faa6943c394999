// Computes a golden's case with headwise: by the name of each tensor that is to
// be reproduced, what we give for it.
#pragma once

#include <map>
#include <string>

#include "golden/golden_case.h"

namespace headwise::testing_support {

// A tensor may be computed in more than one way: its first word then names the
// way ("traced", "plain", "own masks", ...).
struct Computed {
  std::string way;
  std::map<std::string, Got> tensors;
};

// Every way of computing the case. Throws Exception when headwise gives an
// error.
std::vector<Computed> compute(const GoldenCase& golden);

}  // namespace headwise::testing_support
