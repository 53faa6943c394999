#include "models/model_digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "headwise/interop/sha256.h"
#include "headwise/models/sentence_encoder.h"
#include "interop/files.h"
#include "models/small_model.h"

namespace headwise {
namespace {

namespace fs = std::filesystem;

TEST(ModelDigestTest, ChangesWithAllThatAResultDependsOn) {
  const TempFolder folder;
  testing_support::put_small_model(
      folder, testing_support::small_params(testing_support::small_config(
                  testing_support::SmallFamily::bert)));
  testing_support::put_modules(folder, R"({"word_embedding_dimension": 12})",
                               true);
  const auto encoder = SentenceEncoder::read(folder.path()).value();
  const auto digest = [&] {
    return digest_of_model(folder.path(), encoder).value();
  };
  std::string before = digest();
  EXPECT_EQ(digest(), before);
  for (const std::string name :
       {"classifier.safetensors", "config.json", "vocab.txt", "modules.json",
        "1_Pooling/config.json"}) {
    const Bytes bytes =
        fs::exists(folder / name) ? file_bytes(folder / name) : Bytes();
    put_file(folder / name, bytes_of("another"));
    EXPECT_NE(digest(), before) << name;
    put_file(folder / name, bytes);
    before = digest();
  }
}

TEST(ModelDigestTest, ThatOfParametersIsTheirFilesSha256) {
  const TempFolder folder;
  testing_support::put_small_model(
      folder, testing_support::small_params(testing_support::small_config(
                  testing_support::SmallFamily::bert)));
  const auto encoder = SentenceEncoder::read(folder.path()).value();
  EXPECT_EQ(digest_of_params(encoder).value(),
            sha256_of_file(folder / "model.safetensors").value());
  EXPECT_EQ(params_bytes(folder.path()).value(),
            fs::file_size(folder / "model.safetensors"));
}

}  // namespace
}  // namespace headwise
