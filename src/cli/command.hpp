// The subcommands. Each parses its own arguments, throws what fails and returns an exit status;
// main alone ends the process.
#pragma once

#include <span>
#include <string>

namespace ebbtide::cli {

using Arguments = std::span<const std::string>;  // after the subcommand's name

int train_command(Arguments arguments);
int plan_command(Arguments arguments);
int profile_command(Arguments arguments);
int bench_command(Arguments arguments);
int doctor_command(Arguments arguments);
int tune_command(Arguments arguments);

}  // namespace ebbtide::cli
