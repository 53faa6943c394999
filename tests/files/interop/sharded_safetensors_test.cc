#include "interop/sharded_safetensors.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "interop/safetensors_bytes.h"
#include "interop/safetensors_index.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

using testing::Pair;

// A model of two shards: w_q, w_k in one.safetensors, w_v in two.safetensors.
class Model {
 public:
  Model() {
    const auto w = [](const char* name, const char* offsets) {
      return entry(name, "U8", "[2]", offsets);
    };
    put_file(folder_ / "one.safetensors",
             safetensors_file(
                 "{" + w("w_q", "[0,2]") + "," + w("w_k", "[2,4]") + "}",
                 bytes_of("qqkk")));
    put_file(folder_ / "two.safetensors",
             safetensors_file("{" + w("w_v", "[0,2]") + "}", bytes_of("vv")));
  }

  std::string operator/(std::string_view name) const { return folder_ / name; }
  std::string index() const { return folder_ / "model.safetensors.index.json"; }
  void put_index(std::string_view text) const {
    put_file(index(), bytes_of(text));
  }
  // w_q is in `shard`.
  void put_index_of(std::string_view shard) const {
    put_index("{\"weight_map\":{\"w_q\":\"" + std::string(shard) + "\"}}");
  }
  Result<ShardedSafetensors> open(FileAccess access = FileAccess::read) const {
    return open_sharded_safetensors(index(), access);
  }

 private:
  TempFolder folder_;
};

constexpr std::string_view kIndex = "model.safetensors.index.json";

constexpr std::string_view kOperation = "open_sharded_safetensors";

// Opening is refused: the error is about this file, or this entry of it, and
// names these values.
auto IsBad(std::string file, std::string entry, std::vector<std::string> given,
           std::vector<std::string> expected = {}) {
  return HasError({.code = ErrorCode::bad_data,
                   .operation = std::string(kOperation),
                   .file = std::move(file),
                   .entry = std::move(entry),
                   .given = std::move(given),
                   .expected = std::move(expected)});
}
auto CannotBeRead(std::string file, int reason) {
  return HasError({.code = ErrorCode::io_error,
                   .operation = std::string(kOperation),
                   .file = std::move(file),
                   .system_error = reason});
}

constexpr std::string_view kWhole = R"({
  "metadata": {"total_size": 6, "note": [null, {"x": -1.5e0}, true]},
  "weight_map": {"w_q": "one.safetensors", "w_v": "two.safetensors",
                 "w_k": "one.safetensors"}})";

TEST(ShardedSafetensorsTest, TensorsComeFromTheShardsThatTheIndexNames) {
  const Model files;
  files.put_index(kWhole);
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    const auto model = files.open(access).value();
    EXPECT_THAT(model.shard_names(),
                ElementsAre(Pair("w_k", "one.safetensors"),
                            Pair("w_q", "one.safetensors"),
                            Pair("w_v", "two.safetensors")));
    EXPECT_EQ(model.shards().size(), 2u);
    for (const auto& [name, value] :
         {std::pair{"w_q", 'q'}, {"w_k", 'k'}, {"w_v", 'v'}}) {
      const auto array = model.array(name).value();
      EXPECT_THAT(elements_of<char>(array.data), ElementsAre(value, value));
      EXPECT_TRUE(model.tensor(name).value().in_place);
    }
    const auto is_missing = HasError({.code = ErrorCode::out_of_range,
                                      .operation = std::string(kOperation),
                                      .file = files.index(),
                                      .given = {"w_o"}});
    EXPECT_THAT(model.array("w_o"), is_missing);
    EXPECT_THAT(model.tensor("w_o"), is_missing);
  }
}

TEST(ShardedSafetensorsTest, TensorThatTheIndexDoesNotNameIsLeftOut) {
  const Model files;
  files.put_index_of("one.safetensors");
  const auto model = files.open().value();
  EXPECT_EQ(model.shard_names().size(), 1u);
  EXPECT_FALSE(model.array("w_k"));
  files.put_index("{\"weight_map\":{}}");
  EXPECT_TRUE(files.open());
}

TEST(ShardedSafetensorsTest, TensorThatIsNotInItsShardIsNamed) {
  const Model files;
  files.put_index_of("two.safetensors");
  EXPECT_THAT(files.open(), IsBad(files.index(), "w_q", {"two.safetensors"}));
}

TEST(ShardedSafetensorsTest, ShardThatIsNotThereOrIsWrongIsNamed) {
  const Model files;
  files.put_index_of("three.safetensors");
  EXPECT_THAT(files.open(), CannotBeRead(files / "three.safetensors", ENOENT));
  put_file(files / "three.safetensors", bytes_of("text"));
  EXPECT_THAT(files.open(), HasError({.code = ErrorCode::bad_data,
                                      .operation = std::string(kOperation),
                                      .file = files / "three.safetensors",
                                      .byte = 4}));
  files.put_index_of("folder.safetensors");
  ASSERT_EQ(::mkdir((files / "folder.safetensors").c_str(), 0700), 0);
  EXPECT_THAT(files.open(), CannotBeRead(files / "folder.safetensors", EISDIR));
  files.put_index_of("pipe.safetensors");
  ASSERT_EQ(::mkfifo((files / "pipe.safetensors").c_str(), 0600), 0);
  EXPECT_THAT(files.open(), IsBad(files / "pipe.safetensors", "", {"regular"}));
}

// The five ways out of the folder that ONNX's external data had
// (CVE-2022-25882, CVE-2024-27318, CVE-2026-27489, -34446, -34447).
TEST(ShardedSafetensorsTest, NamesThatArePathsAreErrors) {
  const Model files;
  for (const char* name :
       {"../one.safetensors", "a/../../one.safetensors", "/one.safetensors",
        "./one.safetensors", "a/one.safetensors", "..", ".", "", ".safetensors",
        "one.bin", "..\\\\one.safetensors", "one\\u0000.safetensors",
        "one\\n.safetensors", "one.safetensors/"}) {
    files.put_index_of(name);
    EXPECT_THAT(files.open(), IsBad(files.index(), "weight_map.w_q", {},
                                    {"NAME.safetensors"}))
        << name;
  }
  files.put_index_of("..safetensors");  // a name like any other
  EXPECT_THAT(files.open(), CannotBeRead(files / "..safetensors", ENOENT));
}

TEST(ShardedSafetensorsTest, SymbolicLinkToAFileOutsideIsRefused) {
  const Model files;
  const Model outside;
  ASSERT_EQ(::symlink((outside / "one.safetensors").c_str(),
                      (files / "link.safetensors").c_str()),
            0);
  files.put_index_of("link.safetensors");
  EXPECT_THAT(files.open(), IsBad(files / "link.safetensors", "", {"link"}));
}

// As the Hugging Face hub's cache keeps a model.
class HubCache {
 public:
  HubCache() {
    for (const std::string folder : {"blobs", "snapshots", "snapshots/1"}) {
      std::filesystem::create_directory(cache_ / folder);
    }
    std::filesystem::copy(files_ / "one.safetensors", cache_ / "blobs/ab12");
    link("../../blobs/ab12", "one.safetensors");
  }

  void link(const std::string& to, const std::string& name) const {
    std::filesystem::create_symlink(to, cache_ / ("snapshots/1/" + name));
  }
  std::string index() const {
    return cache_ / "snapshots/1/model.safetensors.index.json";
  }
  const Model& files() const { return files_; }
  std::string operator/(std::string_view name) const { return cache_ / name; }

 private:
  Model files_;
  TempFolder cache_;
};

constexpr std::string_view kIndexOfOne =
    R"({"weight_map":{"w_q":"one.safetensors"}})";

TEST(ShardedSafetensorsTest, LinksIntoTheBlobsOfAHubCacheAreFollowed) {
  const HubCache cache;
  put_file(cache / "blobs/index", bytes_of(kIndexOfOne));
  cache.link("../../blobs/index", std::string(kIndex));
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    const auto model = open_sharded_safetensors(cache.index(), access).value();
    EXPECT_THAT(elements_of<char>(model.array("w_q").value().data),
                ElementsAre('q', 'q'));
  }
  // Its index may be a file.
  std::filesystem::remove(cache.index());
  put_file(cache.index(), bytes_of(kIndexOfOne));
  EXPECT_TRUE(open_sharded_safetensors(cache.index()));
}

TEST(ShardedSafetensorsTest, LinksToTheFolderOfALinkedIndexAreFollowed) {
  const Model files;
  files.put_index_of("one.safetensors");
  const TempFolder folder;
  for (const std::string& name :
       {std::string(kIndex), std::string("one.safetensors")}) {
    std::filesystem::create_symlink(files / name, folder / name);
  }
  EXPECT_TRUE(open_sharded_safetensors(folder / kIndex));
}

TEST(ShardedSafetensorsTest, LinksOutOfAHubCacheAreRefused) {
  const HubCache cache;
  put_file(cache.index(), bytes_of(kIndexOfOne));
  const std::string shard = cache / "snapshots/1/one.safetensors";
  for (const std::string& target :
       {cache.files() / "one.safetensors", cache / "one.safetensors",
        std::string("../../blobs/../one.safetensors"),
        std::string("../../blobs/out")}) {
    std::filesystem::remove(cache / "one.safetensors");
    std::filesystem::copy(cache.files() / "one.safetensors",
                          cache / "one.safetensors");
    std::filesystem::remove(cache / "blobs/out");
    std::filesystem::create_symlink(cache / "one.safetensors",
                                    cache / "blobs/out");
    std::filesystem::remove(shard);
    cache.link(target, "one.safetensors");
    EXPECT_THAT(open_sharded_safetensors(cache.index()),
                IsBad(shard, "", {"link"}))
        << target;
  }
}

TEST(ShardedSafetensorsTest, LinkWithinTheFolderIsFollowed) {
  const Model files;
  std::filesystem::create_symlink("one.safetensors", files / "1.safetensors");
  files.put_index_of("1.safetensors");
  EXPECT_TRUE(files.open());
}

TEST(ShardedSafetensorsTest, FolderMayBeALinkThatTheUserNamed) {
  const Model files;
  files.put_index_of("one.safetensors");
  const TempFolder elsewhere;
  const std::string link = elsewhere / "link";
  const std::string index = files.index();
  ASSERT_EQ(::symlink(index.substr(0, index.rfind('/')).c_str(), link.c_str()),
            0);
  EXPECT_TRUE(open_sharded_safetensors(link + "/" + std::string(kIndex)));
}

TEST(ShardedSafetensorsTest, HardLinkIsAFileOfTheFolder) {
  const Model files;
  ASSERT_EQ(::link((files / "one.safetensors").c_str(),
                   (files / "hard.safetensors").c_str()),
            0);
  files.put_index_of("hard.safetensors");
  EXPECT_TRUE(files.open());
}

TEST(ShardedSafetensorsTest, IndexThatIsNotWhatItMustBeIsAnError) {
  const Model files;
  struct Fault {
    std::string text;
    std::string entry;
    std::string given;
    std::string expected{};
  };
  for (const auto& [text, entry, given, expected] : std::vector<Fault>{
           {"", "", "JSON"},
           {"{", "", "JSON"},
           {"{}{}", "", "JSON"},
           {"[]", "", "array", "object"},
           {"1", "", "number", "object"},
           {"{}", "", "weight_map"},
           {R"({"metadata":{"weight_map":{}}})", "", "weight_map"},
           {R"({"weight_map":null})", "weight_map", "null", "object"},
           {R"({"weight_map":[]})", "weight_map", "array", "object"},
           {R"({"weight_map":"one.safetensors"})", "weight_map", "text",
            "object"},
           {R"({"weight_map":{"w_q":1}})", "weight_map.w_q", "number", "file"},
           {R"({"weight_map":{"w_q":["one.safetensors"]}})", "weight_map.w_q",
            "array", "file"},
           {R"({"weight_map":{"w_q":{}}})", "weight_map.w_q", "object", "file"},
           {R"({"weight_map":{"w_q":"one.safetensors","w_q":"a.safetensors"}})",
            "", "w_q"},
           {R"({"weight_map":{},"weight_map":{}})", "", "weight_map"},
           {R"({"metadata":{"a":[{"b":1,"b":2}]},"weight_map":{}})", "", "b"},
           {R"({"a":1,"a":2,"weight_map":{}})", "", "a"}}) {
    files.put_index(text);
    const auto expects =
        expected.empty() ? std::vector<std::string>() : std::vector{expected};
    EXPECT_THAT(files.open(), IsBad(files.index(), entry, {given}, expects))
        << text;
  }
  files.put_index(std::string("{}\0", 3));
  EXPECT_THAT(files.open(), HasError({.code = ErrorCode::bad_data,
                                      .operation = std::string(kOperation),
                                      .file = files.index(),
                                      .byte = 2,
                                      .given = {"NUL"}}));
  for (const char bracket : {'[', '{'}) {
    const std::string opened = bracket == '[' ? "[" : "{\"a\":";
    std::string text = R"({"metadata":)";
    for (int i = 0; i < 100'000; ++i) {
      text += opened;
    }
    files.put_index(text);
    EXPECT_THAT(files.open(), IsBad(files.index(), "", {"16"}));
  }
}

TEST(ShardedSafetensorsTest, EveryPrefixOfAnIndexIsAnError) {
  for (std::size_t size = 0; size < kWhole.size(); ++size) {
    EXPECT_FALSE(parse_safetensors_index(kWhole.substr(0, size), {"", "x"}));
  }
  EXPECT_TRUE(parse_safetensors_index(kWhole, {"", "x"}));
}

TEST(ShardedSafetensorsTest, EveryFlippedBitOfAnIndexGivesAValueOrAnError) {
  std::string text(kWhole);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    const auto mask = static_cast<char>(1u << bit % 8);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
    const auto names = parse_safetensors_index(text, {"", "x"});
    if (!names) {
      EXPECT_EQ(names.error().details().file, "x");
    } else {
      for (const auto& [tensor, shard] : *names) {
        EXPECT_EQ(shard.find('/'), std::string::npos);
      }
    }
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
  }
}

}  // namespace
}  // namespace headwise::testing_support
