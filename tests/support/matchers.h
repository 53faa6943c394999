// googletest, and the matchers that most tests use.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headwise::testing_support {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

}  // namespace headwise::testing_support
