// The large golden files, and tests that read them: skipped where they are not.
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
    GTEST_SKIP() << "no large goldens in " << fixtures()
                 << " (script/golden makes them)";
  }
};

}  // namespace headwise::testing_support
