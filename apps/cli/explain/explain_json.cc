#include "explain_json.h"

#include <cmath>

#include "headwise/version.h"
#include "shell/json.h"
#include "step_words.h"

namespace headwise::cli {
namespace {

// JSON has no infinity and no NaN: they are strings.
Json number(double value, DType dtype) {
  if (dtype == DType::boolean) {
    return value != 0;
  }
  if (dtype == DType::int64) {
    return static_cast<std::int64_t>(value);
  }
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  return value;
}

Json nested(const TracedStep& step, std::size_t axis, std::size_t& next) {
  if (axis == step.extents.size()) {
    return number(step.at(next++), step.dtype);
  }
  Json list = Json::array();
  for (std::size_t n = 0; n < step.extents[axis]; ++n) {
    list.push_back(nested(step, axis + 1, next));
  }
  return list;
}

Json step_json(const ExplainedJob& job, const TracedStep& step,
               std::size_t position, bool values, Language language) {
  Json json = {{"number", position},
               {"name", step.name},
               {"operation", operation_of(job, step, language)},
               {"formula", formula_of(job, step)},
               {"shape", step.extents},
               {"axes", step.axes},
               {"dtype", name_of(step.dtype)}};
  if (step.has_data() && step.size() != 0) {
    const StepSummary summary = summarize(step);
    if (step.dtype != DType::boolean && summary.finite != 0) {
      json["min"] = number(summary.min, step.dtype);
      json["max"] = number(summary.max, step.dtype);
    }
    json["masked"] = summary.masked;
    json["nan"] = summary.nan;
  }
  if (values && step.has_data()) {
    std::size_t next = 0;
    json["values"] = nested(step, 0, next);
  }
  return json;
}

void add_sentence(Json& json, const ExplainedSentence& sentence) {
  json["model"] = {{"folder", sentence.model},
                   {"layer", sentence.layer},
                   {"num_layers", sentence.num_layers},
                   {"max_tokens", sentence.max_tokens}};
  json["sentence"] = sentence.text;
  json["cut_tokens"] = sentence.cut;
  json["tokens"] = Json::array();
  for (const ExplainedToken& token : sentence.tokens) {
    json["tokens"].push_back({{"id", token.id},
                              {"text", token.text},
                              {"begin", token.begin},
                              {"end", token.end}});
  }
}

}  // namespace

std::string explain_json(const ExplainedJob& job, const TracedStep* values_of,
                         Language language) {
  Json json = {{"schema", "headwise.explain"},    {"schema_version", 1},
               {"headwise_version", version()},   {"batch", job.batch},
               {"embed_dim", job.embed_dim},      {"num_heads", job.num_heads},
               {"num_kv_heads", job.num_kv_heads}};
  if (job.from_tokens) {
    json["vocab_size"] = job.vocab_size;
    if (job.cross) {
      json["max_target_sequence_length"] = job.query_length;
      json["max_source_sequence_length"] = job.key_length;
    } else {
      json["max_sequence_length"] = job.key_length;
    }
  }
  if (job.decode) {
    json["cached_tokens"] = job.key_length - 1;
  }
  if (job.sentence) {
    add_sentence(json, *job.sentence);
  }
  json["scoring"] = job.additive ? "additive" : "dot";
  json["scale"] = job.scale;
  if (job.softcap) {
    json["softcap"] = *job.softcap;
  }
  json["steps"] = Json::array();
  for (std::size_t n = 0; n < job.steps.size(); ++n) {
    const TracedStep& step = job.steps[n];
    if (values_of == nullptr || values_of == &step) {
      json["steps"].push_back(
          step_json(job, step, n + 1, values_of == &step, language));
    }
  }
  if (values_of != nullptr && json["steps"].size() == 0) {  // a parameter
    json["steps"].push_back(step_json(job, *values_of, 0, true, language));
  }
  return json_text(json, 2);
}

}  // namespace headwise::cli
