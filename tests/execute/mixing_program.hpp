// A program whose ops really compute, made from one that is only planned, and its right result.
//
// Each op mixes every byte that it reads, its own number and the byte's place into every byte that
// it writes, so that one wrong byte anywhere upstream of a home changes the home.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ebbtide/engine.hpp"
#include "ebbtide/program.hpp"

namespace ebbtide::test {

using Bytes = std::vector<std::byte>;

// The same values, homes, ops and costs; `before_op` is called by every op before its work.
Program with_mixing_ops(const Program& planned, const std::function<void(OpId)>& before_op = {});

// By value; no bytes for a value without a home.
std::vector<Bytes> random_homes(const Program& program, std::uint64_t seed);
// The homes after the ops in order, every value resident in memory of its own.
std::vector<Bytes> run_in_order(const Program& program, std::vector<Bytes> homes);
// The homes after one run of the engine that began with `homes`.
std::vector<Bytes> run_on(Engine& engine, const Program& program, const Plan& plan,
                          const std::vector<Bytes>& homes);

}  // namespace ebbtide::test
