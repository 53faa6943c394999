#include "interop/row_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "interop/files.h"

namespace headwise {
namespace {

constexpr std::size_t kRows = 4;
const Json kWork = {{"model", "abc"}};

// Row r is the number 10 + r.
class RowSourcesTest : public testing::Test {
 protected:
  // A part with one row.
  std::string save(std::size_t row, float value) const {
    RowParts parts(folder_ / "o.npy", {kRows, 1});
    parts.set_work(kWork);
    auto rows = Tensor<float, 2>::create({1, 1}).value();
    rows(0, 0) = value;
    EXPECT_TRUE(parts.add({.ranges = {{row, 1}}}, std::move(rows)));
    EXPECT_TRUE(parts.save());
    return folder_ / ("o.npy.partial/rows-" + std::to_string(row));
  }

  void add(std::size_t row) {
    paths_.push_back(save(row, 10 + static_cast<float>(row)));
    const auto part = RowPart::open(paths_.back(), kWork, {kRows, 1});
    sources_.add_part(paths_.back(), **part);
  }

  float value_of(std::size_t n) {
    const auto bytes = sources_.bytes(n);
    float value = 0;
    EXPECT_TRUE(bytes);
    EXPECT_EQ(bytes->size(), sizeof value);
    std::ranges::copy(*bytes,
                      std::as_writable_bytes(std::span(&value, 1)).data());
    return value;
  }

  std::size_t mapped_parts() const {
    std::ifstream maps("/proc/self/maps");
    std::size_t parts = 0;
    for (std::string line; std::getline(maps, line);) {
      parts += line.find("o.npy.partial/rows-") == std::string::npos ? 0 : 1;
    }
    return parts;
  }

  TempFolder folder_;
  std::vector<std::string> paths_;
  RowSources sources_{kWork, {kRows, 1}};
};

TEST_F(RowSourcesTest, MapsOnePartAtATime) {
  for (const std::size_t row : {3u, 0u, 2u}) {
    add(row);
  }
  const float held = 11;
  sources_.add_held({.ranges = {{1, 1}}}, std::as_bytes(std::span(&held, 1)));
  ASSERT_EQ(sources_.sort(), kRows);
  ASSERT_EQ(sources_.count(), kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(value_of(row), 10 + static_cast<float>(row));
    EXPECT_EQ(mapped_parts(), 1U);
  }
}

TEST_F(RowSourcesTest, FindsTheFirstRowThatIsMissing) {
  add(0);
  add(3);
  EXPECT_EQ(sources_.sort(), 1U);
}

TEST_F(RowSourcesTest, APartThatChangedIsAnError) {
  add(0);
  save(0, 99);
  const auto changed = sources_.bytes(0);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().message(),
            "row_parts: " + paths_[0] + " changed while it was read");
  std::filesystem::remove(paths_[0]);
  EXPECT_FALSE(sources_.bytes(0));
}

}  // namespace
}  // namespace headwise
