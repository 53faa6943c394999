#include "headwise/interop/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "headwise/interop/sha256.h"
#include "interop/files.h"

namespace headwise {
namespace {

namespace fs = std::filesystem;

const Json kWork = {{"model", "abc"}, {"seed", 3}};
const Json kState = {{"done", 12}, {"sums", {0.5, 1e-300, -3.25}}};

TEST(JournalTest, GivesBackWhatWasKeptOfTheSameWork) {
  const TempFolder folder;
  const std::string out = folder / "scores.json";
  EXPECT_FALSE(Journal(out, kWork).state());
  ASSERT_TRUE(Journal(out, kWork).keep(kState));
  EXPECT_EQ(Journal(out, kWork).state().value().dump(), kState.dump());
  EXPECT_FALSE(Journal(out, {{"model", "abd"}, {"seed", 3}}).state());
  EXPECT_FALSE(Journal(folder / "other.json", kWork).state());
  Journal(out, kWork).remove();
  EXPECT_EQ(folder.count(), 0u);
}

// The bytes that version 0.1.0 wrote.
TEST(JournalTest, OneOfAnEarlierVersionIsRead) {
  const TempFolder folder;
  const std::string line =
      R"({"of":{"model":"abc","seed":3},"state":{"done":12}})";
  const std::string with_line_ends =
      "{\"of\":{\n  \"seed\": 3,\n  \"model\": \"abc\"\n}\n,"
      "\"state\":{\"done\":12}}";
  for (const std::string& written : {line, with_line_ends}) {
    const std::string lines = written + "\n" + sha256_of(written) + "\n";
    put_file(folder / "o.json.partial", bytes_of(lines));
    const auto state = Journal(folder / "o.json", kWork).state().value();
    EXPECT_EQ(state.dump(), R"({"done":12})");
    ASSERT_TRUE(Journal(folder / "o.json", kWork).keep(state));
    EXPECT_EQ(file_bytes(folder / "o.json.partial"),
              bytes_of(line + "\n" + sha256_of(line) + "\n"));
  }
}

TEST(JournalTest, AnyDamageMakesItAsIfItWereNotThere) {
  const TempFolder folder;
  const std::string out = folder / "scores.json";
  Journal journal(out, kWork);
  ASSERT_TRUE(journal.keep(kState));
  const Bytes whole = file_bytes(out + ".partial");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    Bytes damaged = whole;
    damaged[n] ^= std::byte{1};
    put_file(out + ".partial", damaged);
    EXPECT_FALSE(journal.state()) << "byte " << n;
    put_file(out + ".partial", std::span(whole).first(n));
    EXPECT_FALSE(journal.state()) << n << " bytes";
  }
  put_file(out + ".partial", whole);
  EXPECT_TRUE(journal.state());
}

TEST(JournalTest, StandsBesideAFileOrAFolder) {
  const TempFolder folder;
  const std::string expected = folder / "a.partial";
  fs::create_directory(folder / "folder");
  EXPECT_EQ(Journal::path_of(folder / "a"), expected);
  EXPECT_EQ(Journal::path_of(folder / "a/"), expected);
  EXPECT_EQ(Journal::path_of(folder / "folder/"), folder / "folder.partial");
  ASSERT_TRUE(Journal(folder / "new/er/folder/", kWork).keep(kState));
  EXPECT_TRUE(fs::exists(folder / "new/er/folder.partial"));
}

TEST(JournalTest, APipeHasNone) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& out : {folder / "pipe", std::string("/dev/null"),
                                 std::string("/dev/stdout")}) {
    Journal journal(out, kWork);
    EXPECT_TRUE(journal.keep(kState));
    EXPECT_FALSE(journal.state());
  }
  EXPECT_EQ(folder.count(), 1u);
}

}  // namespace
}  // namespace headwise
