// All of headwise::io: traces and pictures, files, models and pruning. What it
// works on, tensors and layers, is in headwise/headwise.h.
#pragma once

// clang-format off
#include "headwise/inspect/trace.h"
#include "headwise/inspect/step_table.h"
#include "headwise/inspect/heads_svg.h"
#include "headwise/inspect/heads_grid_svg.h"
#include "headwise/inspect/head_scores_svg.h"
#include "headwise/inspect/accuracy_curve_svg.h"
#include "headwise/inspect/view_page.h"
#include "headwise/interop/array.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/safetensors.h"
#include "headwise/interop/sharded_safetensors.h"
#include "headwise/interop/params.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/models/vocabulary.h"
#include "headwise/models/wordpiece.h"
#include "headwise/models/model_settings.h"
#include "headwise/models/bert_encoder.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/write_model.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/remove_heads.h"
#include "headwise/prune/correct_outputs.h"
#include "headwise/prune/full_size.h"
#include "headwise/prune/sentence_losses.h"
// clang-format on
