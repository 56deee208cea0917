// The keys of a hardware file, once: reading, writing and the list of what is known walk them by
// the same function, so that none can be forgotten in one of the three.
#pragma once

#include <string>
#include <string_view>

#include "src/hardware/machine.hpp"
#include "src/hardware/quantity.hpp"

namespace ebbtide::hardware {

inline constexpr std::int64_t kMostAlike = 1 << 20;  // devices or drives of a node

// "direct" or "host".
constexpr std::string_view peer_path_name(PeerPath path) {
  return path == PeerPath::kDirect ? "direct" : "host";
}

enum class Least { kZero, kAboveZero };
enum class Presence { kRequired, kOptional };

// Called once a key, with the member that it fills or that fills it. A visitor that reads throws
// Error(kBadFile); an optional key that is missing leaves its member as it is.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;

  virtual void text(std::string_view key, std::string& value) = 0;
  virtual void path(std::string_view key, PeerPath& value) = 0;
  virtual void count(std::string_view key, std::uint64_t& value) = 0;  // from 1 on
  virtual void size(std::string_view key, std::uint64_t& bytes, Presence presence) = 0;
  virtual void quantity(std::string_view key, double& value, Dimension dimension, Least least) = 0;
  virtual void fraction(std::string_view key, double& value) = 0;  // in (0, 1]
  // What follows until leave() is in the table `key`. Returns false, and there is nothing to leave,
  // if the table is optional and not there. `present` says whether the machine has it.
  virtual bool enter(std::string_view key, Presence presence, bool present) = 0;
  virtual void leave() = 0;
};

void visit_fields(FieldVisitor& visitor, Machine& machine);

}  // namespace ebbtide::hardware
