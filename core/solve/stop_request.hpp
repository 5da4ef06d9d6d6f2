// Rate-limited access to a Monitor, and whether it has asked the fit to stop.
#pragma once

#include <chrono>

#include "solve/problem.hpp"

namespace splinear {

class StopRequest {
public:
    explicit StopRequest(Monitor& monitor) : monitor_(monitor) {}

    bool made() const noexcept { return made_; }

    // Asks the monitor, at most every 50 ms.
    void poll() {
        using namespace std::chrono_literals;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_poll_ < 50ms) return;
        last_poll_ = now;
        if (monitor_.poll()) made_ = true;
    }

    // Reports a pass to the monitor.
    void pass(const Progress& progress) {
        if (monitor_.pass(progress)) made_ = true;
    }

private:
    Monitor& monitor_;
    bool made_ = false;
    std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

}  // namespace splinear
