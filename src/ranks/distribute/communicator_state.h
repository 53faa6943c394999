// What a communicator keeps.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "distribute/link.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

struct Communicator::State {
  explicit State(std::size_t rank) : to_itself(rank) {}

  struct Started {
    std::unique_ptr<Pending> pending;
    std::size_t other = 0;
  };

  std::string operation;
  Message step;
  Link to_itself;  // no back end has to know of it
  std::size_t last_number = 0;
  std::map<std::size_t, Started> started;
  std::optional<Error> failed;  // every call returns it
};

}  // namespace headwise::inline HEADWISE_ABI
