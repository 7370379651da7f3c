// Prints podgpu(1), for the package.
#include "cli/man_page.h"

#include <cstdio>

int main() { return std::fputs(podgpu::ManPage().c_str(), stdout) < 0 ? 1 : 0; }
