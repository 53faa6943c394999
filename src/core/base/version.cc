#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

const char* version() { return HEADWISE_VERSION_STRING; }

}  // namespace headwise::inline HEADWISE_ABI
