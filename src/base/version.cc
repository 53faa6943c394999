#include "headwise/version.h"

namespace headwise {

const char* version() { return HEADWISE_VERSION_STRING; }

}  // namespace headwise
