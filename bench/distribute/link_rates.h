// How fast ranks exchange bytes.
#pragma once

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise {

struct LinkRates {
  double bytes_per_second = 0;  // of a rank, in each direction
  double latency_seconds = 0;   // of a message of one byte
};

// Every rank sends to the next one and receives from the one before, all at the
// same time. Medians of several messages. In a group of one: those of a copy.
Result<LinkRates> measure_links(Communicator& group);

}  // namespace headwise
