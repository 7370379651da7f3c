// Loads OpenSSL, which the program otherwise loads at the first call of one of its functions.
//
// Where OpenSSL cannot be loaded, the process ends with one line and exit code 1.  A program calls
// this early for two reasons.  The line can still be read then.  And no thread loads a vendor's
// library yet: one that hangs there holds a lock that this loading needs too.  Costs nothing once
// OpenSSL is loaded.  Any thread.
#pragma once

namespace podgpu {

void LoadOpenSsl();

}  // namespace podgpu
