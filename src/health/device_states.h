// What each GPU is now: the driver's word, and what its values say.
//
// The driver's word alone does not do: a device whose samples have stopped, or never begin, is
// still listed as fine.  Hear looks at one reading; which readings make a GPU unresponsive is told
// by Hearing (hearing.h).  Plain data and pure functions; the tick thread calls them once per tick.
#pragma once

#include <cstdint>

#include "facts/heard_gpus.h"
#include "sample/grid.h"

namespace podgpu {

// What the values of a GPU and its instances say together.
enum class Voice : uint8_t {
  kSpeaks,   // One of them at least is a fresh number.
  kExcused,  // There is none, and none can be expected: nothing that the board has is asked for, it
             // sleeps, or profiling is paused on request.
  kStale,    // All have been withdrawn for their age.
  kSilent,   // There is none.
};

struct HeardVoice {
  Voice voice = Voice::kExcused;
  Absence reason = Absence::kNotRead;  // Why there is no number; kNotRead of one that has none to
                                       // give.
  bool operator==(const HeardVoice&) const = default;
};

// The voice of GPU `index` in `grid`, from which old values are withdrawn.  An XID, or that there
// was none yet, says nothing.
HeardVoice Hear(const Grid& grid, size_t index);

}  // namespace podgpu
