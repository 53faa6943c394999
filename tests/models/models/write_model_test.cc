#include "headwise/models/write_model.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headwise/models/sentence_encoder.h"
#include "headwise/models/text_model.h"
#include "models/pruned_model.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view> kSentences = {"Heads matter!", "why"};

// All that a file says of a tensor, and its bytes.
struct Written {
  DType dtype;
  std::vector<std::size_t> shape;
  Bytes bytes;
  bool operator==(const Written&) const = default;
};
using Tensors = std::map<std::string, Written>;

Tensors tensors_of(const std::string& path) {
  const auto file = open_safetensors(path).value();
  Tensors tensors;
  for (const auto& [name, entry] : file.tensors()) {
    const Array array = file.array(name).value();
    tensors[name] = {
        array.dtype, array.shape, {array.data.begin(), array.data.end()}};
  }
  return tensors;
}

class WriteModelTest : public testing::Test {
 protected:
  WriteModelTest() {
    put_small_model(source_, params_);
    put_modules(source_, R"({"word_embedding_dimension": 12})", true);
  }

  std::string to() const { return target_ / "new"; }
  std::string from_file() const { return source_ / "model.safetensors"; }
  std::string to_file() const { return to() + "/model.safetensors"; }
  // Tensors as `change` has them, in the source's file.
  void put_tensors(
      const std::function<void(std::map<std::string, AnyView>&)>& change,
      const std::string& prefix = "") const {
    ASSERT_TRUE(write_params(from_file(), params_, prefix));
    const auto file = open_safetensors(from_file()).value();
    std::vector<Array> arrays;
    std::map<std::string, AnyView> views;
    for (const auto& [name, entry] : file.tensors()) {
      arrays.push_back(file.array(name).value());
      views.emplace(name, arrays.back().view());
    }
    change(views);
    ASSERT_TRUE(write_safetensors(from_file(), views, {{"format", "pt"}}));
  }
  static void rename(std::map<std::string, AnyView>& views,
                     const std::string& end, const std::string& other) {
    std::vector<std::string> names;
    for (const auto& [name, view] : views) {
      if (name.ends_with(end)) {
        names.push_back(name);
      }
    }
    EXPECT_FALSE(names.empty());
    for (const auto& name : names) {
      auto node = views.extract(name);
      node.key() = name.substr(0, name.size() - end.size()) + other;
      views.insert(std::move(node));
    }
  }
  SentenceEncoder model(const std::string& folder) const {
    return SentenceEncoder::read(folder, {.use = ModelUse::training}).value();
  }
  Status write_unchanged() const {
    const SentenceEncoder encoder = model(source_.path());
    return write_model(
        source_.path(), to(),
        {.params = encoder.encoder().params(), .kept_heads = KeptHeads()});
  }
  LabelProbe probe(const std::string& first) const {
    return LabelProbe::create(12, {first, "other"}).value();
  }

  TempFolder source_;
  TempFolder target_;
  Params params_ = small_params(small_config(SmallFamily::bert));
};

TEST_F(WriteModelTest, WhatIsNotChangedHasTheSourcesBytes) {
  put_file(source_ / "README.md", bytes_of("not copied"));
  put_file(source_ / "1_Pooling/notes.txt", bytes_of("copied"));
  fs::create_directories(source_ / "deep/er");
  put_file(source_ / "deep/er/x.json", bytes_of("not copied"));
  ASSERT_TRUE(write_unchanged());
  EXPECT_EQ(tensors_of(to_file()), tensors_of(from_file()));
  for (const std::string name :
       {"config.json", "vocab.txt", "modules.json", "1_Pooling/config.json",
        "1_Pooling/notes.txt"}) {
    EXPECT_EQ(file_bytes(to() + "/" + name), file_bytes(source_ / name))
        << name;
  }
  // Those, the folder of two of them, and the parameters.
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(to()), {}), 7);
  EXPECT_TRUE(
      same_bits(model(to()).encode(kSentences).value().embeddings,
                model(source_.path()).encode(kSentences).value().embeddings));
}

TEST_F(WriteModelTest, ASecondTimeGivesTheSameBytes) {
  ASSERT_TRUE(write_unchanged());
  const Bytes once = file_bytes(to_file());
  ASSERT_TRUE(write_unchanged());
  EXPECT_EQ(file_bytes(to_file()), once);
}

TEST_F(WriteModelTest, TensorsThatAreNotReadStay) {
  const auto pooler = uniform<2>({12, 12}, 80);
  auto ids = Tensor<std::int64_t, 2>::create({1, 9}).value();
  ids(0, 8) = 8;
  put_tensors([&](auto& views) {
    views.emplace("pooler.dense.weight", pooler);
    views.emplace("embeddings.position_ids", ids);
  });
  ASSERT_TRUE(write_unchanged());
  const Tensors written = tensors_of(to_file());
  EXPECT_EQ(written, tensors_of(from_file()));
  EXPECT_EQ(written.at("embeddings.position_ids").dtype, DType::int64);
  EXPECT_EQ(open_safetensors(to_file()).value().metadata(),
            (SafetensorsMetadata{{"format", "pt"}}));
}

TEST_F(WriteModelTest, ThePrefixAndTheNamesOfOldFilesStay) {
  put_tensors(
      [](auto& views) {
        rename(views, "LayerNorm.weight", "LayerNorm.gamma");
        rename(views, "LayerNorm.bias", "LayerNorm.beta");
      },
      "bert.");
  SentenceEncoder encoder = model(source_.path());
  ASSERT_TRUE(
      encoder.encoder().update([](std::string_view, std::span<float> values) {
        values[0] += 0.5f;
        return ok();
      }));
  ASSERT_TRUE(write_model(source_.path(), to(),
                          {.params = encoder.encoder().params()}));
  const Tensors was = tensors_of(from_file());
  const Tensors is = tensors_of(to_file());
  ASSERT_EQ(is.size(), was.size());
  for (const auto& [name, tensor] : was) {
    ASSERT_TRUE(is.contains(name)) << name;
    EXPECT_EQ(is.at(name).shape, tensor.shape) << name;
    EXPECT_NE(is.at(name).bytes, tensor.bytes) << name;
  }
  EXPECT_TRUE(is.contains("bert.embeddings.LayerNorm.gamma"));
}

TEST_F(WriteModelTest, ChangedParametersAreReadBitForBit) {
  SentenceEncoder encoder = model(source_.path());
  std::uint32_t stream = 200;
  ASSERT_TRUE(
      encoder.encoder().update([&](std::string_view, std::span<float> values) {
        const auto noise = uniform<1>({values.size()}, ++stream, -0.1, 0.1);
        for (std::size_t n = 0; n < values.size(); ++n) {
          values[n] += noise(n);
        }
        return ok();
      }));
  ASSERT_TRUE(write_model(source_.path(), to(),
                          {.params = encoder.encoder().params()}));
  EXPECT_TRUE(same_bits(model(to()).encode(kSentences).value().embeddings,
                        encoder.encode(kSentences).value().embeddings));
  EXPECT_NE(file_bytes(to_file()), file_bytes(from_file()));
}

TEST_F(WriteModelTest, ShardsBecomeOneFile) {
  const Tensors whole = tensors_of(from_file());
  const auto file = open_safetensors(from_file()).value();
  std::map<std::string, AnyView> halves[2];
  std::vector<Array> arrays;
  std::string map;
  for (const auto& [name, entry] : file.tensors()) {
    const std::size_t half = arrays.size() % 2;
    arrays.push_back(file.array(name).value());
    halves[half].emplace(name, arrays.back().view());
    map += (map.empty() ? "\"" : ", \"") + name + "\": \"" +
           std::to_string(half) + ".safetensors\"";
  }
  ASSERT_TRUE(write_safetensors(source_ / "0.safetensors", halves[0]));
  ASSERT_TRUE(write_safetensors(source_ / "1.safetensors", halves[1]));
  put_file(source_ / "model.safetensors.index.json",
           bytes_of("{\"weight_map\": {" + map + "}}"));
  fs::remove(from_file());
  ASSERT_TRUE(write_unchanged());
  EXPECT_EQ(tensors_of(to_file()), whole);
  EXPECT_FALSE(fs::exists(to() + "/model.safetensors.index.json"));
  EXPECT_FALSE(fs::exists(to() + "/0.safetensors"));
}

TEST_F(WriteModelTest, FilesThatAreLinksAreCopiedUnderTheirNames) {
  const TempFolder cache;
  for (const std::string name :
       {"config.json", "vocab.txt", "model.safetensors"}) {
    fs::rename(source_ / name, cache / name);
    fs::create_symlink(cache / name, source_ / name);
  }
  fs::create_directory_symlink(cache.path(), source_ / "folder");
  fs::create_symlink(source_ / "nowhere", source_ / "gone.json");
  fs::create_symlink(source_ / "loop", source_ / "loop");
  ASSERT_TRUE(write_unchanged());
  EXPECT_FALSE(fs::is_symlink(to() + "/config.json"));
  EXPECT_FALSE(fs::exists(to() + "/folder"));
  EXPECT_EQ(cache.count(), 3u);
  EXPECT_EQ(tensors_of(to_file()), tensors_of(from_file()));
  EXPECT_TRUE(
      same_bits(model(to()).encode(kSentences).value().embeddings,
                model(source_.path()).encode(kSentences).value().embeddings));
}

TEST_F(WriteModelTest, AModelInAFolderOfItsOwnStaysThere) {
  fs::create_directory(source_ / "0_Transformer");
  for (const std::string name :
       {"config.json", "vocab.txt", "model.safetensors"}) {
    fs::rename(source_ / name, source_ / ("0_Transformer/" + name));
  }
  put_file(source_ / "modules.json", bytes_of(R"([{"path": "0_Transformer",
              "type": "sentence_transformers.models.Transformer"},
             {"path": "1_Pooling",
              "type": "sentence_transformers.models.Pooling"}])"));
  const SentenceEncoder encoder = model(source_.path());
  for (const std::string& folder : {to(), to() + "/"}) {
    for (const std::string& source : {source_.path(), source_.path() + "/"}) {
      fs::remove_all(to());
      ASSERT_TRUE(
          write_model(source, folder, {.params = encoder.encoder().params()}));
      EXPECT_EQ(tensors_of(to() + "/0_Transformer/model.safetensors"),
                tensors_of(source_ / "0_Transformer/model.safetensors"));
      EXPECT_FALSE(fs::exists(to_file()));
      EXPECT_TRUE(model(to()).encode(kSentences));
    }
  }
}

TEST_F(WriteModelTest, TheHeadsThatWereKeptStandInTheMetadata) {
  const KeptHeads kept = {{0, 2}, {}};
  SmallConfig config = small_config(SmallFamily::bert);
  Params fewer = pruned(params_, config, kept);
  std::map<std::string, AnyView> views;
  for (std::size_t n = 0; n < 2; ++n) {
    const auto names = part_names(SmallFamily::bert, n);
    for (const auto& name : {names.q, names.k, names.v, names.o}) {
      const auto& bias = fewer.at(name + ".bias");
      views.emplace(name + ".weight", fewer.at(name + ".weight").view());
      views.emplace(name + ".bias",
                    TensorView<const float, 1>(bias.data(), {bias.size()}));
    }
  }
  ASSERT_TRUE(
      write_model(source_.path(), to(), {.params = views, .kept_heads = kept}));
  const SentenceEncoder cut = model(to());
  EXPECT_EQ(heads_left(cut.encoder()), kept);
  EXPECT_EQ(cut.encoder().params().size(), params_.size());
  // And so they do when that model is written once more.
  const std::string again = target_ / "again";
  for (const auto& its :
       {std::optional(heads_left(cut.encoder())), std::optional<KeptHeads>()}) {
    ASSERT_TRUE(write_model(
        to(), again, {.params = cut.encoder().params(), .kept_heads = its}));
    EXPECT_EQ(file_bytes(again + "/model.safetensors"), file_bytes(to_file()));
  }
}

TEST_F(WriteModelTest, TheSourcesClassifierIsCopiedOrReplaced) {
  ASSERT_TRUE(write_unchanged());
  const std::string name = "classifier.safetensors";
  EXPECT_FALSE(fs::exists(to() + "/" + name));
  ASSERT_TRUE(probe("of the source").write(source_.path()));
  ASSERT_TRUE(write_unchanged());
  EXPECT_EQ(file_bytes(to() + "/" + name), file_bytes(source_ / name));
  const LabelProbe other = probe("another");
  ASSERT_TRUE(write_model(source_.path(), to(), {.probe = &other}));
  EXPECT_EQ(LabelProbe::read(to(), 12).value()->labels()[0], "another");
  EXPECT_EQ(LabelProbe::read(source_.path(), 12).value()->labels()[0],
            "of the source");
}

TEST_F(WriteModelTest, NothingOfTheOldModelStays) {
  ASSERT_TRUE(probe("of the old model").write(source_.path()));
  ASSERT_TRUE(write_unchanged());
  put_file(to() + "/checkpoint.npz", bytes_of("of a run"));
  TempFolder other;
  put_small_model(other, params_);
  for (const std::vector<std::string>& keep :
       {std::vector<std::string>{"checkpoint.npz", "not there"}, {}}) {
    ASSERT_TRUE(write_model(other.path(), to(), {.keep = keep}));
    for (const std::string name :
         {"modules.json", "1_Pooling", "classifier.safetensors"}) {
      EXPECT_FALSE(fs::exists(to() + "/" + name)) << name;
    }
    EXPECT_EQ(fs::exists(to() + "/checkpoint.npz"), !keep.empty());
    EXPECT_EQ(target_.count(), 1u);
    EXPECT_TRUE(
        same_bits(model(to()).encode(kSentences).value().embeddings,
                  model(other.path()).encode(kSentences).value().embeddings));
  }
}

TEST_F(WriteModelTest, AFailureLeavesTheOldModelWhole) {
  ASSERT_TRUE(write_unchanged());
  const Bytes was = file_bytes(to_file());
  put_file(source_ / "config.json.txt", bytes_of("another setting"));
  put_file(from_file(), bytes_of("no tensors"));
  ASSERT_FALSE(write_model(source_.path(), to(), {}));
  EXPECT_EQ(file_bytes(to_file()), was);
  EXPECT_FALSE(fs::exists(to() + "/config.json.txt"));
  EXPECT_EQ(target_.count(), 1u);
}

TEST_F(WriteModelTest, AFolderOfOtherFilesIsRefusedOrKeepsThem) {
  ASSERT_TRUE(write_unchanged());
  put_file(to() + "/notes.md", bytes_of("mine"));
  fs::create_directories(to() + "/thesis/chapters");
  put_file(to() + "/thesis/chapters/1.txt", bytes_of("mine"));
  TempFolder other;
  put_small_model(other, params_);
  EXPECT_THAT(write_model(other.path(), to(), {}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "write_model",
                        .file = to(),
                        .given = {"notes.md"}}));
  EXPECT_TRUE(fs::exists(to() + "/modules.json"));
  ASSERT_TRUE(write_model(other.path(), to(), {.keep_other_files = true}));
  EXPECT_EQ(file_bytes(to() + "/notes.md"), bytes_of("mine"));
  EXPECT_EQ(file_bytes(to() + "/thesis/chapters/1.txt"), bytes_of("mine"));
  EXPECT_FALSE(fs::exists(to() + "/modules.json"));
  EXPECT_FALSE(fs::exists(to() + "/1_Pooling/config.json"));
  EXPECT_TRUE(model(to()).encode(kSentences));
  EXPECT_EQ(target_.count(), 1u);
}

TEST_F(WriteModelTest, ALinkIsNoFileOfOurs) {
  fs::create_directory(to());
  fs::create_symlink(from_file(), to_file());
  EXPECT_FALSE(write_model(source_.path(), to(), {}));
  EXPECT_TRUE(fs::is_symlink(to_file()));
}

TEST_F(WriteModelTest, AFolderWithinTheSourceIsRefused) {
  const std::string inner = source_ / "new";
  EXPECT_THAT(write_model(source_.path(), inner, {}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "write_model",
                        .argument = "folder",
                        .given = {inner},
                        .expected = {"outside"}}));
  EXPECT_FALSE(fs::exists(inner));
}

TEST_F(WriteModelTest, TheSourcesFolderIsRefused) {
  const Bytes was = file_bytes(from_file());
  fs::create_directory_symlink(source_.path(), target_ / "link");
  for (const std::string& folder :
       {source_.path(), source_.path() + "/1_Pooling/..", target_ / "link"}) {
    EXPECT_THAT(write_model(source_.path(), folder, {}),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "write_model",
                          .argument = "folder",
                          .given = {folder},
                          .expected = {"source"}}));
  }
  EXPECT_EQ(file_bytes(from_file()), was);
}

TEST_F(WriteModelTest, AParameterThatTheSourceHasNotIsRefused) {
  const auto values = uniform<1>({12}, 81);
  for (const std::string name : {"pooler.dense.bias", "bert.x", ""}) {
    EXPECT_THAT(write_model(source_.path(), to(), {.params = {{name, values}}}),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "write_model",
                          .file = from_file(),
                          .given = {"has no " + name}}));
    EXPECT_FALSE(fs::exists(to_file()));
  }
}

TEST_F(WriteModelTest, AFolderThatCannotBeWrittenIsNamed) {
  put_file(target_ / "file", bytes_of("here"));
  for (const std::string name : {"file", "file/new"}) {
    const Status s = write_model(source_.path(), target_ / name, {});
    ASSERT_FALSE(s) << name;
    EXPECT_EQ(s.error().code(), ErrorCode::io_error);
    EXPECT_TRUE(s.error().details().file.starts_with(target_ / "file"))
        << s.error().message();
  }
  // Where the parameters belong there is a folder already.
  fs::create_directories(to_file());
  EXPECT_THAT(write_model(source_.path(), to(), {}),
              IsFileError(ErrorCode::io_error, to_file()));
  EXPECT_TRUE(fs::is_empty(to_file()));
  for (const auto& entry : fs::directory_iterator(to())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".headwise"));
  }
  const Status nul =
      write_model(source_.path(), target_ / std::string("a\0b", 3), {});
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(fs::exists(target_ / "a"));
}

TEST_F(WriteModelTest, ASourceThatCannotBeReadIsNamed) {
  const auto written = [&] {
    Status s = write_model(source_.path(), to(), {});
    EXPECT_FALSE(fs::exists(to_file()));
    return s;
  };
  put_file(from_file(), bytes_of("no tensors"));
  EXPECT_THAT(written(), IsFileError(ErrorCode::bad_data, from_file()));
  fs::remove(from_file());
  EXPECT_THAT(written(), HasGiven("model.safetensors"));
  fs::remove(source_ / "config.json");
  EXPECT_THAT(written(), HasGiven("config.json"));
  EXPECT_EQ(write_model(target_ / "none", to(), {}).error().code(),
            ErrorCode::io_error);
}

}  // namespace
}  // namespace headwise::testing_support
