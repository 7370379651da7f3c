// Loads OpenSSL, which the program otherwise loads at the first call of one of its functions.
//
// Where OpenSSL cannot be loaded, the process ends with one line and exit code 1.  So a program
// calls this while the line can be read, and before it starts a thread that may hang in the dynamic
// linker, because that would hold up the loading for ever.  Costs nothing once OpenSSL is loaded.
// Any thread.
#pragma once

namespace podgpu {

void LoadOpenSsl();

}  // namespace podgpu
