#include "headwise/interop/params.h"

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "headwise/interop/npy.h"
#include "headwise/interop/safetensors.h"
#include "interop/files.h"
#include "interop/param_name.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const ParamNames kNames = {.required = {"w_q.weight", "w_o.weight"},
                           .optional = {"w_q.bias", "embedding.weight"}};

// (2, 2) elements, the last of them `last`.
class Weight {
 public:
  explicit Weight(float last) : values_{1, 2, 3, last} {}
  TensorView<const float, 2> view() const { return {values_.data(), {2, 2}}; }

 private:
  std::array<float, 4> values_;
};

void put(const std::string& path, float last = 4) {
  const Status written = write_npy(path, Weight(last).view());
  ASSERT_TRUE(written) << written.error().message();
}

float last_of(const NamedArrays& params, const std::string& name) {
  return elements_of<float>(params.at(name).data).back();
}

// The parameters are refused: the error is about this file, or this entry of
// it, and names these values.
auto IsBad(std::string file, std::string entry, std::vector<std::string> given,
           std::vector<std::string> expected = {}) {
  return HasError({.code = ErrorCode::bad_data,
                   .operation = "read_params",
                   .file = std::move(file),
                   .entry = std::move(entry),
                   .given = std::move(given),
                   .expected = std::move(expected)});
}

TEST(ParamsTest, FolderIsReadByTheNamesOfOthersToo) {
  const TempFolder folder;
  put(folder / "fc_q.weight.npy", 5);
  put(folder / "w_0.weight.npy", 6);
  put(folder / "W_q.bias.npy", 7);
  put_file(folder / "case.json", bytes_of("{}"));
  put_file(folder / ".npy", bytes_of("a name of nothing"));
  const auto params = read_params(folder.path(), kNames).value();
  EXPECT_EQ(params.size(), 3u);
  EXPECT_EQ(last_of(params, "w_q.weight"), 5);
  EXPECT_EQ(last_of(params, "w_o.weight"), 6);
  EXPECT_EQ(last_of(params, "w_q.bias"), 7);
}

TEST(ParamsTest, ArchiveIsReadAsAFolderIs) {
  const TempFolder folder;
  const Weight q(5);
  const Weight o(6);
  ASSERT_TRUE(write_npz(folder / "layer.npz",
                        {{"W_q.weight", q.view()}, {"fc_o.weight", o.view()}}));
  const auto params = read_params(folder / "layer.npz", kNames).value();
  EXPECT_EQ(last_of(params, "w_q.weight"), 5);
  EXPECT_EQ(last_of(params, "w_o.weight"), 6);
}

TEST(ParamsTest, SafetensorsAreReadAsAFolderIs) {
  const TempFolder folder;
  const Weight q(5);
  const Weight o(6);
  const Weight nan(std::numeric_limits<float>::quiet_NaN());
  const std::string file = folder / "layer.safetensors";
  const std::string index = folder / "layer.safetensors.index.json";
  ASSERT_TRUE(write_safetensors(
      file, {{"W_q.weight", q.view()}, {"fc_o.weight", o.view()}}));
  put_file(index, bytes_of(R"({"weight_map":{"W_q.weight":)"
                           R"("layer.safetensors","fc_o.weight":)"
                           R"("layer.safetensors"}})"));
  for (const std::string& path : {file, index}) {
    const auto params = read_params(path, kNames).value();
    EXPECT_EQ(params.size(), 2u);
    EXPECT_EQ(last_of(params, "w_q.weight"), 5);
    EXPECT_EQ(last_of(params, "w_o.weight"), 6);
  }
  ASSERT_TRUE(write_safetensors(
      file, {{"w_q.weight", nan.view()}, {"w_o.weight", o.view()}}));
  EXPECT_THAT(read_params(file, kNames),
              IsBad(file, "w_q.weight", {"nan", "(1, 1)"}, {"finite"}));
  EXPECT_THAT(read_params(index, kNames),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "open_sharded_safetensors",
                        .file = index,
                        .entry = "W_q.weight",
                        .given = {"layer.safetensors"}}));
  put_file(file, bytes_of("text"));
  EXPECT_THAT(read_params(file, kNames),
              HasError({.code = ErrorCode::bad_data, .file = file, .byte = 4}));
}

TEST(ParamsTest, LayerIsReadInTheLayoutOfItsFile) {
  const std::vector<float> values = [] {
    std::vector<float> counted(16);
    std::iota(counted.begin(), counted.end(), 0.0f);
    return counted;
  }();
  const auto matrix = [&](std::size_t first) {
    return AnyView(TensorView<const float, 2>(values.data() + first, {2, 2}));
  };
  const auto vector = [&](std::size_t first) {
    return AnyView(TensorView<const float, 1>(values.data() + first, {2}));
  };
  std::map<std::string, AnyView> views;
  for (const char* layer : {"0", "7"}) {
    const std::string start =
        "bert.encoder.layer." + std::string(layer) + ".attention.";
    std::size_t first = *layer == '0' ? 0 : 4;
    for (const char* name :
         {"self.query", "self.key", "self.value", "output.dense"}) {
      views.emplace(start + name + ".weight", matrix(first));
      views.emplace(start + name + ".bias", vector(first++));
    }
  }
  const TempFolder folder;
  const std::string path = folder / "model.safetensors";
  ASSERT_TRUE(write_safetensors(path, views));
  const auto first = read_layer_params(path, kNames);
  const auto last = read_layer_params(path, kNames, {.number = 7});
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_EQ(first->params.size(), 8u);
  EXPECT_EQ(last_of(first->params, "w_q.weight"), 3);
  EXPECT_EQ(last_of(last->params, "w_q.weight"), 7);
  EXPECT_EQ(last_of(last->params, "w_o.bias"), 8);
  EXPECT_THAT(read_layer_params(path, kNames, {.number = 1}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "read_params",
                        .file = path,
                        .given = {"1"},
                        .expected = {"0 7"}}));
  EXPECT_THAT(read_layer_params(path, kNames, {.layout = "keras"}),
              IsBad(path, "", {"keras", "query/kernel"}));
  EXPECT_THAT(read_layer_params(path, {.required = {"embedding.weight"}}),
              IsBad(path, "", {"embedding.weight"}));
}

TEST(ParamsTest, NamesOfHeadwiseAreNoLayoutUnlessItIsChosen) {
  const TempFolder folder;
  put(folder / "W_q.weight.npy", 5);
  put(folder / "w_o.weight.npy", 6);
  const auto layer = read_layer_params(folder.path(), kNames).value();
  EXPECT_EQ(last_of(layer.params, "w_q.weight"), 5);
  EXPECT_FALSE(layer.num_heads);
  EXPECT_THAT(read_layer_params(folder.path(), kNames, {.number = 2}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "read_params",
                        .file = folder.path(),
                        .given = {"2"},
                        .expected = {"0"}}));
  EXPECT_THAT(read_layer_params(folder.path(), kNames, {.layout = "d2l"}),
              IsBad(folder.path(), "", {"d2l", "W_k.weight"}));
}

TEST(ParamsTest, TheAdditiveNamesOfD2lMeanTheScoreWeight) {
  const ParamNames additive = {
      .required = {"w_q.weight", "w_k.weight"},
      .optional = {"w_v.weight", "w_o.weight", "w_score.weight"}};
  const auto names_of = [](const TempFolder& folder, const ParamNames& names) {
    const auto params = read_params(folder.path(), names);
    std::vector<std::string> found;
    for (const auto& [name, array] : params.value()) {
      found.push_back(name);
    }
    return found;
  };
  const TempFolder folder;
  put(folder / "W_q.weight.npy");
  put(folder / "W_k.weight.npy");
  put(folder / "w_v.weight.npy", 9);
  EXPECT_THAT(names_of(folder, additive),
              ElementsAre("w_k.weight", "w_q.weight", "w_score.weight"));
  const auto params = read_params(folder.path(), additive);
  EXPECT_EQ(last_of(*params, "w_score.weight"), 9);
  // Where nobody knows a score weight it stays the values' projection.
  EXPECT_THAT(names_of(folder, {.required = {"w_q.weight", "w_k.weight",
                                             "w_v.weight"}}),
              ElementsAre("w_k.weight", "w_q.weight", "w_v.weight"));
  // So it does beside a score weight or an output projection.
  for (const char* other : {"w_score.weight", "W_o.weight"}) {
    const TempFolder more;
    for (const char* name : {"W_q.weight", "W_k.weight", "w_v.weight"}) {
      put(more / (std::string(name) + ".npy"));
    }
    put(more / (std::string(other) + ".npy"));
    EXPECT_THAT(names_of(more, additive), testing::Contains("w_v.weight"))
        << other;
  }
}

TEST(ParamsTest, EveryAliasMeansItsProjection) {
  for (const char* letter : {"q", "k", "v", "o"}) {
    for (const char* prefix : {"w_", "fc_", "W_"}) {
      for (const char* kind : {".weight", ".bias"}) {
        EXPECT_EQ(param_name(std::string(prefix) + letter + kind),
                  std::string("w_") + letter + kind);
      }
    }
  }
  EXPECT_EQ(param_name("w_0.bias"), "w_o.bias");
  EXPECT_EQ(param_name("embedding.weight"), "embedding.weight");
  EXPECT_EQ(param_name("fc_q"), "w_q");
  EXPECT_EQ(param_name("fc_qq.weight"), "fc_qq.weight");
}

// ---- How many heads. ----

TEST(LayerHeadsTest, StandBesideTheParameters) {
  const TempFolder folder;
  const Weight weight(4);
  const std::int64_t heads[] = {2, 1};
  const auto number = [&](std::size_t n) {
    return AnyView(TensorView<const std::int64_t, 1>(heads + n, {1}));
  };
  const std::string path = folder / "layer.npz";
  ASSERT_TRUE(write_npz(path, {{"w_q.weight", weight.view()},
                               {"w_o.weight", weight.view()},
                               {"num_heads", number(0)},
                               {"num_kv_heads", number(1)}}));
  const auto layer = read_layer_params(path, kNames).value();
  EXPECT_EQ(layer.num_heads, 2u);
  EXPECT_EQ(layer.num_kv_heads, 1u);
  EXPECT_EQ(layer.params.size(), 2u);
  // It is no parameter.
  EXPECT_THAT(read_params(path, kNames),
              IsBad(path, "num_heads", {}, {"w_q.weight"}));
}

TEST(LayerHeadsTest, OrStandInTheMetadata) {
  const TempFolder folder;
  const Weight weight(4);
  const std::string path = folder / "layer.safetensors";
  const auto heads_of = [&](const SafetensorsMetadata& metadata) {
    EXPECT_TRUE(write_safetensors(
        path, {{"w_q.weight", weight.view()}, {"w_o.weight", weight.view()}},
        metadata));
    return read_layer_params(path, kNames);
  };
  EXPECT_EQ(heads_of({}).value().num_heads, std::nullopt);
  EXPECT_EQ(heads_of({{"num_heads", "8"}}).value().num_heads, 8u);
  EXPECT_EQ(heads_of({{"num_heads", "[ 3, 4 ]"}}).value().num_heads, 3u);
  EXPECT_EQ(heads_of({{"num_heads", "[0]"}}).value().num_heads, 0u);
  for (const std::string text : {"", "eight", "8.5", "-8", "[]", "[8", "8]",
                                 "[8,]", "[8] 8", "18446744073709551616"}) {
    EXPECT_THAT(heads_of({{"num_heads", text}}),
                IsBad(path, "__metadata__.num_heads", {"is " + text}, {"0"}))
        << text;
  }
}

TEST(ParamsTest, TwoNamesOfOneParameterAreAnError) {
  const TempFolder folder;
  put(folder / "w_o.weight.npy");
  put(folder / "w_q.weight.npy");
  put(folder / "w_0.weight.npy");
  EXPECT_THAT(
      read_params(folder.path(), kNames),
      IsBad(folder / "w_o.weight.npy", "", {"w_o.weight", "w_0.weight"}));
}

TEST(ParamsTest, UnknownNameIsAnErrorThatListsTheAcceptedOnes) {
  const TempFolder folder;
  put(folder / "w_o.weight.npy");
  put(folder / "w_q.weight.npy");
  put(folder / "w_x.weight.npy");
  EXPECT_THAT(read_params(folder.path(), kNames),
              IsBad(folder / "w_x.weight.npy", "", {},
                    {"w_q.weight w_o.weight w_q.bias embedding.weight"}));
}

TEST(ParamsTest, MissingNameIsAnError) {
  const TempFolder folder;
  put(folder / "w_q.weight.npy");
  EXPECT_THAT(read_params(folder.path(), kNames),
              IsBad(folder.path(), "", {"w_o.weight"}));
}

TEST(ParamsTest, NumberThatIsNotFiniteIsNamedWithItsPlace) {
  const TempFolder folder;
  put(folder / "w_q.weight.npy");
  put(folder / "w_o.weight.npy", std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(
      read_params(folder.path(), kNames),
      IsBad(folder / "w_o.weight.npy", "", {"nan", "(1, 1)"}, {"finite"}));
  const Weight q(std::numeric_limits<float>::infinity());
  const Weight o(1);
  ASSERT_TRUE(write_npz(folder / "layer.npz",
                        {{"w_q.weight", q.view()}, {"w_o.weight", o.view()}}));
  EXPECT_THAT(
      read_params(folder / "layer.npz", kNames),
      IsBad(folder / "layer.npz", "w_q.weight", {"inf", "(1, 1)"}, {"finite"}));
}

TEST(ParamsTest, FileThatIsNoArrayIsAnErrorThatNamesIt) {
  const TempFolder folder;
  put(folder / "w_q.weight.npy");
  put_file(folder / "w_o.weight.npy", bytes_of("text"));
  EXPECT_THAT(read_params(folder.path(), kNames),
              HasError({.code = ErrorCode::bad_data,
                        .file = folder / "w_o.weight.npy",
                        .byte = 4}));
  EXPECT_THAT(read_params(folder / "none", kNames),
              HasError({.code = ErrorCode::io_error,
                        .file = folder / "none",
                        .system_error = ENOENT}));
}

}  // namespace
}  // namespace headwise::testing_support
