// What each row of published_cases.csv is good for, and why some are good for nothing here.
#include <stdexcept>
#include <string_view>

#include "tests/plan_command/published_judgement.hpp"

namespace ebbtide::test {
namespace {

struct Uses {
  std::vector<std::string> ids;
  UseOfCase use;
};

std::vector<Uses> tested() {
  return {
      {{"7", "18"}, {Purpose::kBytes, "32 b s h a layer"}},
      {{"8"}, {Purpose::kBytes, "two whole layers over the GPUs"}},
      {{"55", "57", "58", "63"}, {Purpose::kBytes, "2 s h a layer"}},
      {{"9"}, {Purpose::kVerdict, "the bill of two rounding buffers"}},
      {{"22"}, {Purpose::kVerdict, "our plan, in device and host memory alone"}},
      {{"23"},
       {Purpose::kVerdict,
        "our plan, as above; 40 heads: 32 GPUs share a sequence, so two are in flight"}},
      {{"25"},
       {Purpose::kVerdict,
        "our plan, as above; 64 heads: 64 GPUs share a sequence, so two are in flight"}},
      {{"64"},
       {Purpose::kVerdict,
        "all recomputed, weights, optimizer and checkpoints on the host; loss and MLP in tiles"}},
      {{"10", "13"},
       {Purpose::kFraction,
        "from the values of one rank's program; the log-sum-exp moves with attention's output"}},
      {{"39", "43"}, {Purpose::kFitted, "8 P s and 8 L h s^2 at two efficiencies"}},
      {{"37", "41", "45"}, {Purpose::kTime, "at the efficiencies of 39 and 43"}},
      {{"35", "47", "51"},
       {Purpose::kTimeBound,
        "a sequence a GPU each, the same work at rates far apart: no model fits all"}},
      {{"2"},
       {Purpose::kLongest,
        "the bill of two rounding buffers. Not claimed: that 1.25 times does not fit, which hangs "
        "on whether logits are whole"}},
      {{"20", "21"},
       {Purpose::kNotClaimed,
        "neither the layout nor how the optimizer is divided is stated, and they decide on a card "
        "of 80 GiB; predicted is tensor and sequence parallel over 8, a lower bound"}},
  };
}

std::vector<Uses> not_used() {
  const auto none = [](const char* why) { return UseOfCase{Purpose::kNone, why}; };
  return {
      {{"3", "24", "26"}, none("a longest sequence: the layout is not stated")},
      {{"4", "27"},
       none("a longest sequence: what is recomputed and how state is divided is not "
            "stated")},
      {{"31"}, none("a longest sequence: what is on the card beside the layer is not stated")},
      {{"33", "34"}, none("a longest sequence: the card's memory is not stated")},
      {{"5"}, none("secondary, and at a layout that is not stated")},
      {{"32"}, none("a bound on MFU; the source is in doubt of the card")},
      {{"14", "15"},
       none("one is derived from the other; our file of the A800 takes its link's rate from here")},
      {{"16", "17"}, none("readings of an allocator")},
      {{"36", "38", "40", "42", "44", "46", "48", "52"},
       none("the time of the row before it, counted without the causal mask")},
      {{"59", "62"}, none("readings of an allocator")},
      {{"65"}, none("failed in a kernel, not for memory")},
      {{"69", "71"}, none("fp8")},
      {{"70", "72", "75", "76"},
       none("throughput of short sequences in batches that are not stated")},
      {{"83", "84"}, none("a hybrid model")},
      {{"86", "87", "88"}, none("of hardware; our hardware files take drives from here")},
  };
}

std::map<std::string, UseOfCase> uses_by_id() {
  std::map<std::string, UseOfCase> by_id;
  for (const std::vector<Uses>& all : {tested(), not_used()})
    for (const Uses& uses : all)
      for (const std::string& id : uses.ids)
        if (!by_id.emplace(id, uses.use).second) throw std::runtime_error("twice: row " + id);
  return by_id;
}

}  // namespace

const UseOfCase& use_of(const PublishedCase& of) {
  static const std::map<std::string, UseOfCase> by_id = uses_by_id();
  const auto found = by_id.find(of.id());
  if (found == by_id.end()) throw std::runtime_error("what is row " + of.id() + " good for?");
  return found->second;
}

}  // namespace ebbtide::test
