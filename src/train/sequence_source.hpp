// Where the training loop gets its sequences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ebbtide::train {

// targets[i] is what follows tokens[i], or kernels::kIgnoredTarget; both have one length, at least
// one and at most the run's seq_len. Ids are below the model's vocabulary.
struct Sequence {
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> targets;
};

class SequenceSource {
 public:
  virtual ~SequenceSource() = default;
  // Sequence `index` of the run, the same whenever it is asked for. Throws Error(kBadData).
  virtual void read(std::uint64_t index, Sequence& out) = 0;
  // A sum of what the sequences are made from; a resumed run must have the same.
  virtual std::string fingerprint() const = 0;
};

}  // namespace ebbtide::train
