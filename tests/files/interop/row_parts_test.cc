#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/journal.h"
#include "headwise/interop/npy.h"
#include "interop/files.h"
#include "interop/temporary.h"

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRows = 10;
constexpr std::size_t kColumns = 3;
const Json kWork = {{"model", "abc"}};

// Row r is (100 r, 100 r + 1, ..).
Tensor<float, 2> rows_of(const std::vector<RowInterval>& ranges) {
  std::vector<float> values;
  for (const RowInterval& range : ranges) {
    for (std::size_t row = range.first; row < range.end(); ++row) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        values.push_back(static_cast<float>(100 * row + c));
      }
    }
  }
  auto rows =
      Tensor<float, 2>::create({values.size() / kColumns, kColumns}).value();
  std::ranges::copy(values, rows.data());
  return rows;
}

class RowPartsTest : public testing::Test {
 protected:
  RowParts parts(const Json& work = kWork) const {
    RowParts made(out_, {kRows, kColumns});
    made.set_work(work);
    return made;
  }

  void save(const std::vector<RowInterval>& ranges) const {
    RowParts of_one = parts();
    ASSERT_TRUE(of_one.add({ranges, {{"n", 1}}}, rows_of(ranges)));
    ASSERT_TRUE(of_one.save());
  }

  Bytes expected() const {
    const std::string alone = folder_ / "alone.npy";
    const Tensor<float, 2> whole = rows_of({{0, kRows}});
    EXPECT_TRUE(write_npy(alone, whole));
    Bytes bytes = file_bytes(alone);
    fs::remove(alone);
    return bytes;
  }

  std::string part(std::size_t first) const {
    return out_ + ".partial/rows-" + std::to_string(first);
  }

  TempFolder folder_;
  std::string out_ = folder_ / "o.npy";
};

TEST_F(RowPartsTest, JoinsPartsOfSeveralProcessesInTheOrderOfTheRows) {
  const Bytes whole = expected();
  save({{2, 3}, {8, 1}});
  save({{0, 2}, {5, 1}, {7, 1}});
  RowParts last = parts();
  ASSERT_TRUE(last.add({.ranges = {{9, 1}}}, rows_of({{9, 1}})));
  ASSERT_TRUE(last.add({.ranges = {{6, 1}}}, rows_of({{6, 1}})));
  const auto pieces = last.join().value();
  EXPECT_EQ(pieces.size(), 4u);
  EXPECT_EQ(file_bytes(out_), whole);
  EXPECT_EQ(folder_.count(), 1u);  // no parts
}

TEST_F(RowPartsTest, WithoutSavingThereAreNoParts) {
  RowParts alone(out_, {kRows, kColumns});
  ASSERT_TRUE(alone.add({.ranges = {{0, 4}}}, rows_of({{0, 4}})));
  ASSERT_TRUE(alone.add({.ranges = {{4, 6}}}, rows_of({{4, 6}})));
  EXPECT_EQ(folder_.count(), 0u);
  ASSERT_TRUE(alone.join());
  EXPECT_EQ(file_bytes(out_), expected());
}

TEST_F(RowPartsTest, GivesBackWhatWasSavedOfTheSameWork) {
  save({{2, 3}, {8, 1}});
  const auto pieces = parts().read().value();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].ranges, (std::vector<RowInterval>{{2, 3}, {8, 1}}));
  EXPECT_EQ(pieces[0].note.dump(), R"({"n":1})");
  EXPECT_TRUE(parts({{"model", "abd"}}).read()->empty());
  RowParts narrower(out_, {kRows, kColumns - 1});
  narrower.set_work(kWork);
  EXPECT_TRUE(narrower.read()->empty());
}

TEST_F(RowPartsTest, AnyDamageMakesAPartAsIfItWereNotThere) {
  save({{2, 2}});
  const Bytes whole = file_bytes(part(2));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    Bytes damaged = whole;
    damaged[n] ^= std::byte{1};
    put_file(part(2), damaged);
    EXPECT_TRUE(parts().read()->empty()) << "byte " << n;
    put_file(part(2), std::span(whole).first(n));
    EXPECT_TRUE(parts().read()->empty()) << n << " bytes";
  }
  put_file(part(2), whole);
  EXPECT_EQ(parts().read()->size(), 1u);
}

TEST_F(RowPartsTest, OfTwoPartsWithTheSameRowOneCounts) {
  save({{2, 3}});
  save({{4, 2}});
  EXPECT_EQ(parts().read()->size(), 1u);
}

TEST_F(RowPartsTest, RowsOfADamagedPartAreComputedAgain) {
  const Bytes whole = expected();
  save({{0, 4}});
  save({{4, 6}});
  Bytes damaged = file_bytes(part(0));
  damaged.back() ^= std::byte{1};
  put_file(part(0), damaged);
  RowParts resumed = parts();
  EXPECT_EQ(resumed.read()->size(), 1u);
  ASSERT_TRUE(resumed.add({.ranges = {{0, 4}}}, rows_of({{0, 4}})));
  const auto pieces = resumed.join();
  ASSERT_TRUE(pieces) << pieces.error().message();
  EXPECT_EQ(file_bytes(out_), whole);
}

TEST_F(RowPartsTest, UnfinishedPartsOfOthersStayUntilAllAreJoined) {
  fs::create_directories(out_ + ".partial");
  const std::string unfinished = out_ + ".partial/" + temporary_name();
  put_file(unfinished, bytes_of("half a part"));
  save({{0, kRows}});
  EXPECT_TRUE(fs::exists(unfinished));
  ASSERT_TRUE(parts().join());
  EXPECT_FALSE(fs::exists(out_ + ".partial"));
}

TEST_F(RowPartsTest, AMissingRowIsAnErrorAndNothingIsWritten) {
  save({{0, 7}, {8, 2}});
  const auto pieces = parts().join();
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.error().code(), ErrorCode::bad_data);
  EXPECT_NE(pieces.error().message().find("row 7"), std::string::npos);
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_TRUE(fs::exists(part(0)));
}

TEST_F(RowPartsTest, KeepsFilesThatAreNotItsOwn) {
  save({{0, kRows}});
  put_file(out_ + ".partial/notes", bytes_of("mine"));
  ASSERT_TRUE(parts().join());
  EXPECT_TRUE(fs::exists(out_ + ".partial/notes"));
  EXPECT_FALSE(fs::exists(part(0)));
}

TEST_F(RowPartsTest, APartThatCannotBeWrittenStaysInMemory) {
  fs::create_directories(part(0));
  RowParts of_all = parts();
  ASSERT_TRUE(of_all.add({.ranges = {{0, kRows}}}, rows_of({{0, kRows}})));
  EXPECT_FALSE(of_all.save());
  ASSERT_TRUE(of_all.join());
  EXPECT_EQ(file_bytes(out_), expected());
}

TEST_F(RowPartsTest, RowsThatDoNotFitThePieceAreRefused) {
  EXPECT_EQ(parts().add({.ranges = {{0, 3}}}, rows_of({{0, 2}})).error().code(),
            ErrorCode::shape_mismatch);
}

TEST_F(RowPartsTest, ADeviceHasNoParts) {
  RowParts parts("/dev/null", {1, kColumns});
  ASSERT_TRUE(parts.add({.ranges = {{0, 1}}}, rows_of({{0, 1}})));
  EXPECT_FALSE(parts.due(std::chrono::seconds(0)));
  EXPECT_TRUE(parts.save());
  EXPECT_TRUE(parts.join());
}

}  // namespace
}  // namespace headwise
