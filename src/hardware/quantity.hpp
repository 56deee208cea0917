// Quantities of hardware files: a number and a unit, "24 GiB", "25 GB/s", "165.2 TFLOP/s", "10 us".
// KiB, MiB, ... are powers of 1024, KB, MB, ... of 1000. Letters' case matters: Gb could be bits.
#pragma once

#include <string>
#include <string_view>

namespace ebbtide::hardware {

enum class Dimension { kBytes, kBytesPerSecond, kFlops, kFlopsPerSecond, kSeconds };

// Returns the value in bytes, flops, seconds or their quotient; finite, not negative.
// Throws Error(kBadFile) with `where`, the text, what is wrong and what is allowed.
double parse_quantity(std::string_view where, std::string_view text, Dimension dimension);

// The shortest text that parse_quantity reads back as the same bits.
// Requires a finite value that is not negative.
std::string quantity_text(double value, Dimension dimension);

}  // namespace ebbtide::hardware
