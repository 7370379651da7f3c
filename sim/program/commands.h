// The commands of podgpu-sim: one row each.
//
// main.cc finds the row, parses against it and runs it.  An error's status decides the exit code: 2
// for kInvalidArgument (wrong use or a wrong scenario), 1 for all others.  Its message is printed
// unchanged, one line per complaint.
#pragma once

#include <span>

#include "sim/program/command_line.h"

namespace podgpu::sim {

std::span<const Command> Commands();

}  // namespace podgpu::sim
