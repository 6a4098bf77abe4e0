// The newest value of one writer for one reader, without locks and without allocation.

#pragma once

#include <array>
#include <atomic>

namespace @{namespace}
{

/// Three slots: one is written, one is read, one is the newest.
template <typename T>
class Mailbox
{
public:
  /// Only one thread may call this.
  void write(const T & value)
  {
    slots_[writing_] = value;
    writing_ = newest_.exchange(writing_ | FRESH, std::memory_order_acq_rel) & ~FRESH;
  }

  /// Copy a value that was not read yet; return whether there is one. For one thread only.
  bool read(T & value)
  {
    if ((newest_.load(std::memory_order_relaxed) & FRESH) == 0U) {
      return false;
    }
    reading_ = newest_.exchange(reading_, std::memory_order_acq_rel) & ~FRESH;
    value = slots_[reading_];
    return true;
  }

private:
  static constexpr unsigned FRESH = 4U;
  std::array<T, 3> slots_{};
  unsigned writing_ = 0U, reading_ = 1U;
  std::atomic<unsigned> newest_{2U};
};

}  // namespace @{namespace}
