#include "served_forward.h"

#include <optional>
#include <string>

#include "headwise/generate/generator.h"
#include "headwise/json/json.h"
#include "served_arithmetic.h"
#include "shell/read_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kMostForwardBytes = std::size_t{1} << 20;
constexpr int kDeepestForward = 8;

// Empty if the file does not exist.
std::optional<Json> forward_spec(const std::filesystem::path& folder) {
  const auto text = read_text("workload", (folder / "workload.json").string());
  return text ? Json::parse(*text, kMostForwardBytes, kDeepestForward)
              : std::nullopt;
}

}  // namespace

bool ServedForward::is_in(const std::filesystem::path& folder) {
  const auto json = forward_spec(folder);
  const Json* const kind = json ? json->find("kind") : nullptr;
  std::string name;
  return kind != nullptr && kind->get(name) && name == "forward";
}

Result<ServedForward> ServedForward::read(const std::filesystem::path& folder,
                                          const Executor& executor) {
  const auto json = forward_spec(folder);
  std::string model;
  std::string name;
  std::vector<std::uint64_t> ids;
  for (const auto& [key, found] :
       {std::pair("model", json->find("model") != nullptr &&
                               json->find("model")->get(model)),
        {"ids", json->find("ids") != nullptr && json->find("ids")->get(ids)},
        {"arithmetic", json->find("arithmetic") != nullptr &&
                           json->find("arithmetic")->get(name)}}) {
    if (!found) {
      return Error{ErrorCode::bad_data,
                   {.given = std::string("workload.json lacks ") + key}};
    }
  }
  HEADWISE_ASSIGN(const auto arithmetic,
                  served_arithmetic("workload.json", name));
  HEADWISE_ASSIGN(auto read,
                  Transformer::read(model, {.arithmetic = arithmetic}));
  std::uint64_t new_tokens = 0;
  if (const Json* const given = json->find("new_tokens"); given != nullptr) {
    given->get(new_tokens);
  }
  return ServedForward(std::move(read),
                       {std::vector<TokenId>(ids.begin(), ids.end())},
                       new_tokens, executor);
}

Status ServedForward::generate() {
  generated_.clear();
  HEADWISE_ASSIGN(
      auto generator,
      Generator::create(model_, {.max_tokens = ids_[0].size() + new_tokens_,
                                 .executor = executor_}));
  HEADWISE_TRY(
      generator.add({.prompt = ids_[0], .max_new_tokens = new_tokens_}));
  while (!generator.done()) {
    HEADWISE_TRY(
        generator.step([&](const GeneratedToken& token) -> Result<bool> {
          generated_.push_back(static_cast<float>(token.id));
          return true;
        }));
  }
  return ok();
}

Status ServedForward::run() {
  if (new_tokens_ != 0) {
    return generate();
  }
  HEADWISE_ASSIGN(const auto hidden,
                  model_.hidden(ids_, {.executor = executor_}));
  const TensorView<const float, 2> last(&hidden(hidden.extent(0) - 1, 0),
                                        {1, hidden.extent(1)});
  HEADWISE_ASSIGN(logits_, model_.logits(last, executor_));
  return ok();
}

std::vector<BenchCase::Output> ServedForward::outputs() {
  return {{"out", new_tokens_ != 0 ? std::span<const float>(generated_)
                                   : logits_.elements()}};
}

}  // namespace headwise::cli
