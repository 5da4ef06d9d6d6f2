#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

#include "operators/hessian.hpp"
#include "operators/passes.hpp"
#include "rows/blocks.hpp"
#include "solve/train.hpp"
#include "tests/check.hpp"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

using namespace splinear;
using splinear::testing::near;

namespace {

constexpr std::ptrdiff_t n_rows = 20'000;  // not a multiple of a block
constexpr std::size_t n_features = 3;

// Rows that record which calls of done_with() they receive.
struct Listener {
    Row n_rows() const { return 100; }
    Row rows_per_block() const { return 30; }
    void done_with(Row begin, Row end) const { told->emplace_back(begin, end); }
    std::vector<std::pair<Row, Row>>* told;
};

struct Plain {
    Row n_rows() const { return 100; }
};

void whole_blocks_are_released() {
    std::vector<std::pair<Row, Row>> told;
    const Listener rows{&told};
    {
        ReleaseBehind behind(rows);
        for (Row i = 20; i <= 100; i += 20) behind.reached(i);
    }
    const std::vector<std::pair<Row, Row>> expected{{0, 40}, {40, 80}, {80, 100}};
    CHECK(told == expected);
    told.clear();
    read_in_order(rows, 90, 30, [](Row begin, Row end) { CHECK(end - begin == 30); });
    CHECK(told == std::vector<std::pair<Row, Row>>{{0, 30}, {30, 60}, {60, 90}, {90, 90}});
}

void rows_in_memory_are_one_block() {
    CHECK(rows_per_block(Plain{}) == 100);
    done_with(Plain{}, 0, 100);
    CHECK(Codes(50, 2, CodeGrid::whole_axis(false)).rows_per_block() == 50);
    CHECK(Codes(0, 2, CodeGrid::whole_axis(false)).rows_per_block() == 1);
    CHECK(rows_per_unit(Plain{}) == 100);
}

void a_unit_is_a_sixteenth_of_a_block() {
    const auto unit_of = [](Row n, Row block) {
        return rows_per_unit(
            Codes(static_cast<const Code*>(nullptr), n, 2, CodeGrid::whole_axis(false), block));
    };
    CHECK(unit_of(100'000, 4096) == 256);
    CHECK(unit_of(100'000, 5000) == 256);
    CHECK(unit_of(100'000, 1) == 64);
    CHECK(unit_of(4096, 4096) == 4096);  // one block: nothing is released
}

#if __has_include(<sys/mman.h>)

// The same codes in memory and in a file.
struct Data {
    Data() : axes(zeros, ones, zeros, bins), codes(n_rows, n_features, grid) {
        std::vector<double> x;
        for (std::size_t i = 0; i < n_rows * n_features; ++i)
            x.push_back(static_cast<double>((i * 7919) % 4099) / 4098.0);
        std::vector<std::int64_t> order(n_rows);
        std::iota(order.begin(), order.end(), 0);
        codes.fill(MatrixView<double>{x.data(), n_rows, n_features, n_features, 1}, columns, order,
                   axes, 1);
        for (std::size_t i = 0; i < n_rows; ++i) {
            const bool inside = std::abs(x[i * n_features] - 0.5) < 0.2;
            y.push_back(inside != (i % 7 == 0) ? 1 : -1);
            r.push_back(x[i * n_features + 1] - 0.5);
        }
        std::fwrite(codes.row(0), 1, n_bytes, file);
        std::fflush(file);
        map = mmap(nullptr, n_bytes, PROT_READ, MAP_SHARED, fileno(file), 0);
    }
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
    ~Data() {
        munmap(map, n_bytes);
        std::fclose(file);
    }
    Codes on_disk() const {
        return {static_cast<const Code*>(map), n_rows, n_features, grid, 4096};
    }

    static constexpr std::size_t n_bytes = n_rows * n_features * sizeof(Code);
    const CodeGrid grid = CodeGrid::bins(8, 1, false);
    const std::array<double, n_features> zeros{}, ones{1.0, 1.0, 1.0}, bins{8.0, 8.0, 8.0};
    const std::array<std::int64_t, n_features> columns{0, 1, 2};
    std::FILE* file = std::tmpfile();
    void* map = nullptr;
    Axes axes;
    Codes codes;
    std::vector<std::int8_t> y;
    std::vector<double> r;
};

void what_was_let_go_is_still_there(const Data& data) {
    const Codes disk = data.on_disk();
    for (const Row begin : {0, 5000, 19'999}) {
        disk.done_with(begin, n_rows);
        for (Row i = begin; i < n_rows; ++i)
            for (std::size_t j = 0; j < n_features; ++j)
                CHECK(disk.row(i)[j] == data.codes.row(i)[j]);
    }
    disk.done_with(7, 7);
}

Group group_of(const AnyRows& rows) {
    const std::vector<double> variance(n_features, 0.125);
    return {{BSpline<1>{8}, DifferencePenalty(1, 9, 2), variance, {}, {}}, rows};
}

void passes_are_the_same_to_the_bit(const Data& data) {
    const Codes disk = data.on_disk();
    const AnyRows memory = CodedRows(data.codes, data.axes), file = CodedRows(disk, data.axes);
    const Group in_memory = group_of(memory);
    const Group in_file = group_of(file);
    const std::array<const Group*, 1> one{&in_memory}, other{&in_file};
    std::vector<double> coef(n_features * 9);
    for (std::size_t k = 0; k < coef.size(); ++k) coef[k] = static_cast<double>(k % 5) - 2.0;
    for (const int n_threads : {1, 3}) {
        CHECK(score_all(other, coef, n_threads) == score_all(one, coef, 1));
        CHECK(sum_all(other, data.r, n_threads) == sum_all(one, data.r, 1));
        CHECK(blocks_all(other, data.r, n_threads) == blocks_all(one, data.r, 1));
    }
}

class Quiet final : public Monitor {
public:
    bool poll() override { return false; }
    bool pass(const Progress& progress) override {
        n_active = progress.n_active;
        return false;
    }
    std::ptrdiff_t n_active = 0;
};

DualResult fit(const Data& data, const Codes& codes, const AnyLoss& loss, int n_threads,
               std::span<const double> alpha = {}) {
    const std::array<double, 1> one{1.0};
    const AnyRows rows = CodedRows(codes, data.axes);
    const Group group = group_of(rows);
    const std::array<const Group*, 1> groups{&group};
    const DualProblem problem{data.y, {}, {}, 1.0, 2.0, 1.0};
    Quiet quiet;
    return train(groups, loss, problem, {1e-4, 1000, 3, n_threads, true}, {alpha, {}, 0.0}, one,
                 quiet)
        .front();
}

void blocks_lead_to_the_same_optimum(const Data& data, const AnyLoss& loss) {
    const DualResult memory = fit(data, data.codes, loss, 1);
    const DualResult disk = fit(data, data.on_disk(), loss, 1);
    CHECK(memory.converged && disk.converged);
    CHECK(near(disk.primal / memory.primal, 1.0, 1e-4));  // within the gap of both
    CHECK(disk.coef == fit(data, data.on_disk(), loss, 3).coef);
    const DualResult again = fit(data, data.on_disk(), loss, 1, disk.alpha);
    CHECK(again.converged && again.n_iter <= 2);
}

void on_disk() {
    const Data data;
    what_was_let_go_is_still_there(data);
    passes_are_the_same_to_the_bit(data);
    blocks_lead_to_the_same_optimum(data, Hinge{});
    blocks_lead_to_the_same_optimum(data, Logistic{});
}

#else

void on_disk() {}

#endif

}  // namespace

int main() {
    whole_blocks_are_released();
    rows_in_memory_are_one_block();
    a_unit_is_a_sixteenth_of_a_block();
    on_disk();
    return splinear::testing::result();
}
