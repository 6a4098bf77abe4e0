// The desired motion of the joints: at rest, on the way to rest, or a reference from outside.
//
// As rbdyn_ros.control.motion.tracking, whose paths another controller gives here as references.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "laws.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// Desired motion of the controlled joints, as another controller or a topic gives it.
struct Reference
{
  bool given = false;
  Joints q{};
  Joints v{};
  Joints a{};
};

class Target
{
public:
  /// Position, velocity and acceleration of all degrees of freedom.
  const Motion & desired() const { return desired_; }

  /// Rest at a position.
  void rest_at(const Vector<const double> & q)
  {
    desired_ = Motion(q, Dofs{}, Dofs{});
    left_ = 0.0;
    follows_ = false;
  }

  /// Decelerate from a state of the arm.
  void stop_from(
    const Vector<const double> & q, const Vector<const double> & v, const Rows & limits)
  {
    rest_at(q);
    for (const Index k : PLACE) {
      desired_(1, k) = v[k];
    }
    stop(limits);
  }

  /// Follow a reference. Return false if it begins farther away than the tolerance.
  bool follow(const Reference & reference, double tolerance)
  {
    if (!follows_) {
      for (std::size_t i = 0; i < CONTROLLED; ++i) {
        if (!(std::abs(reference.q[i] - desired_(0, PLACE[i])) <= tolerance)) {
          return false;
        }
      }
    }
    follows_ = true;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      desired_(0, PLACE[i]) = reference.q[i];
      desired_(1, PLACE[i]) = reference.v[i];
      desired_(2, PLACE[i]) = reference.a[i];
    }
    return true;
  }

  /// Go on without a reference, for a time [s]: to rest, if a reference has just ended.
  void advance(double dt, const Rows & limits)
  {
    if (follows_) {
      follows_ = false;
      stop(limits);
    }
    if (left_ > 0.0) {
      left_ = std::max(left_ - dt, 0.0);
      decelerate();
    }
  }

  /// Joints that are not controlled have no target of their own: they would disturb the others.
  void let_go(const Vector<const double> & q, const Vector<const double> & v)
  {
    for (const Index k : OTHERS) {
      desired_(0, k) = q[k];
      desired_(1, k) = v[k];
      desired_(2, k) = 0.0;
    }
  }

private:
  /// Begin to decelerate from the present velocity, within the limits of the positions.
  void stop(const Rows & limits)
  {
    const double time = tracking::stopping_time(
      desired_, PLACE, limits.row(limits::LOWER), limits.row(limits::UPPER));
    desired_.fill(2, 0.0);
    begin_ = desired_;
    left_ = time_ = time;
    if (time == 0.0) {
      desired_.fill(1, 0.0);
    }
  }

  /// The polynomial of degree 5 with this beginning and rest at its end, without accelerations at
  /// both, covers half of velocity times time.
  void decelerate()
  {
    const double s = 1.0 - left_ / time_;
    for (const Index k : PLACE) {
      const double v = begin_(1, k);
      desired_(0, k) = begin_(0, k) + v * time_ * (s - s * s * s + 0.5 * s * s * s * s);
      desired_(1, k) = v * (1.0 - 3.0 * s * s + 2.0 * s * s * s);
      desired_(2, k) = v / time_ * (6.0 * s * s - 6.0 * s);
    }
  }

  Motion desired_, begin_;
  double left_ = 0.0, time_ = 0.0;  // of the deceleration [s]
  bool follows_ = false;
};

}  // namespace @{namespace}
