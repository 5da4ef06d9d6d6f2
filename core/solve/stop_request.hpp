// Whether a monitor has asked a fit to stop.
#pragma once

#include <chrono>

#include "solve/problem.hpp"

namespace splinear {

class StopRequest {
public:
    explicit StopRequest(Monitor& monitor) : monitor_(monitor) {}

    bool made() const noexcept { return made_; }

    // Asks the monitor, unless it was asked a moment ago.
    void poll() {
        using namespace std::chrono_literals;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_poll_ < 50ms) return;
        last_poll_ = now;
        if (monitor_.poll()) made_ = true;
    }

    // Tells the monitor about a pass.
    void pass(const Progress& progress) {
        if (monitor_.pass(progress)) made_ = true;
    }

private:
    Monitor& monitor_;
    bool made_ = false;
    std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

}  // namespace splinear
