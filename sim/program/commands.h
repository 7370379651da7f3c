// What podgpu-sim can do: one row per command.
//
// main.cc finds the row, parses against it and runs it.  An error's status decides the exit code:
// kInvalidArgument is wrong use or a wrong scenario (2), anything else is 1; its message is printed
// as it is, one line per complaint.
#pragma once

#include <span>

#include "sim/program/command_line.h"

namespace podgpu::sim {

std::span<const Command> Commands();

}  // namespace podgpu::sim
