// The ops of kernels.hpp on the CPU, one a file.
#pragma once

#include "kernels/cpu/native_product.hpp"
#include "kernels/cpu/team.hpp"
#include "kernels/kernels.hpp"

namespace ebbtide::kernels::cpu {

// Null `natives`: by our own micro-kernel.
void run(const Matmul& op, Team& team, NativeProducts* natives);
void run(const RmsNormForward& op, Team& team);
void run(const RmsNormBackward& op, Team& team);
void run(const RopeTable& op, Team& team);
void run(const Rope& op, Team& team);
void run(const AttentionForward& op, Team& team);
void run(const AttentionDelta& op, Team& team);
void run(const AttentionBackward& op, Team& team);
void run(const SwigluForward& op, Team& team);
void run(const SwigluBackward& op, Team& team);
void run(const EmbeddingForward& op, Team& team);
void run(const EmbeddingBackward& op, Team& team);
void run(const CrossEntropy& op, Team& team);
void run(const Cast& op, Team& team);
void run(const Add& op, Team& team);
void run(const BiasBackward& op, Team& team);
void run(const SumOfSquares& op, Team& team);
void run(const AdamW& op, Team& team);

}  // namespace ebbtide::kernels::cpu
