// All of headwise::io: plans for several ranks, traces and pictures, files,
// tokenizers, models, training, pruning, and questions about heads. It includes
// all other headers of these libraries. The tensors and layers that it works on
// are in headwise/headwise.h.
#pragma once

// clang-format off
#include "headwise/distribute/context_layer.h"
#include "headwise/distribute/heads_attention.h"
#include "headwise/distribute/layer_shard.h"
#include "headwise/distribute/plan_forecast.h"
#include "headwise/distribute/thread_ranks.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/convert_params.h"
#include "headwise/interop/dialect_diff.h"
#include "headwise/interop/load_attention.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/param_inspection.h"
#include "headwise/interop/params.h"
#include "headwise/interop/paths.h"
#include "headwise/interop/sha256.h"
#include "headwise/interop/token_text.h"
#include "headwise/inspect/layer_heads.h"
#include "headwise/inspect/pictures.h"
#include "headwise/inspect/weights_statistics.h"
#include "headwise/tokenizer/decode_stream.h"
#include "headwise/train/classifier_run.h"
#include "headwise/train/induction_run.h"
#include "headwise/train/next_token.h"
#include "headwise/train/task_run.h"
#include "headwise/words/language.h"
#include "headwise/prune/pruned_accuracy.h"
#include "headwise/prune/sentence_importance.h"
#include "headwise/heads/ablation.h"
#include "headwise/heads/attribution_target.h"
#include "headwise/heads/find_heads.h"
#include "headwise/heads/integrated_gates.h"
#include "headwise/heads/model_comparison.h"
#include "headwise/heads/norm_statistics.h"
#include "headwise/heads/patching.h"
#include "headwise/heads/projected_heads.h"
#include "headwise/heads/rollout.h"
#include "headwise/heads/text_view.h"
// clang-format on
