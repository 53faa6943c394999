// The large golden files, and tests that read them: skipped where they are not,
// with CI=true a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headwise::testing_support {

inline std::filesystem::path fixtures() {
  const char* from_environment = std::getenv("HEADWISE_FIXTURES");
  return from_environment != nullptr ? from_environment : HEADWISE_FIXTURES;
}

class FixturesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::filesystem::is_directory(fixtures())) {
      return;
    }
    const char* ci = std::getenv("CI");
    ASSERT_FALSE(ci != nullptr && std::string(ci) == "true")
        << "CI=true, but there are no large goldens in " << fixtures();
    GTEST_SKIP() << "no large goldens in " << fixtures()
                 << " (HEADWISE_FIXTURES names their folder)";
  }
};

}  // namespace headwise::testing_support
