// SPDX-License-Identifier: Apache-2.0
// The harness: gives the cases of all suites to Google Benchmark, which repeats, interleaves and
// reports them. Time is manual: the threads of a case take it themselves (see threads.c), so that what
// is reported as time is nanoseconds an operation.
#include "bench/harness/bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

const bench_suite *const suites[] = {
    &bench_suite_events,  &bench_suite_spans,           &bench_suite_filters,
    &bench_suite_current, &bench_suite_lists,           &bench_suite_indices,
    &bench_suite_polls,   &bench_suite_indices_checked,
};

double quantile(std::vector<double> values, double at) {
    std::sort(values.begin(), values.end());
    double place = at * static_cast<double>(values.size() - 1);
    auto low = static_cast<std::size_t>(std::floor(place));
    std::size_t high = std::min(low + 1, values.size() - 1);
    return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
}

void run(benchmark::State &state, const bench_case *bench) {
    bench_result result;
    const auto ops = static_cast<benchmark::IterationCount>(bench->ops);
    while (state.KeepRunningBatch(ops)) {
        bench_run(bench, &result);
        state.SetIterationTime(result.ns_per_op * static_cast<double>(bench->ops) * 1e-9);
    }
    state.counters["cpu_ns"] = result.cpu_ns_per_op;
    state.counters["wall_ns"] = result.wall_ns_per_op;
    state.counters["mallocs"] = result.mallocs_per_op;
    state.counters["mmaps"] = result.mmaps_per_op;
    if (bench->figure) {
        state.counters[bench->figure] = result.figure;
    }
}

void add(const bench_case *bench) {
    benchmark::RegisterBenchmark(bench->name, run, bench)
        ->UseManualTime()
        ->Iterations(static_cast<benchmark::IterationCount>(bench->ops))
        ->ComputeStatistics("p10", [](const std::vector<double> &v) { return quantile(v, 0.1); })
        ->ComputeStatistics("p90", [](const std::vector<double> &v) { return quantile(v, 0.9); });
}

} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 2;
    }
    if (!bench_threads_start()) {
        std::fprintf(stderr, "bench: the threads do not start\n");
        return 1;
    }
    benchmark::AddCustomContext("clock", "CLOCK_MONOTONIC around each thread's whole loop");
    benchmark::AddCustomContext("compiler", __VERSION__);
    for (const bench_suite *suite : suites) {
        for (std::size_t i = 0; i < suite->count; i++) {
            add(&suite->cases[i]);
        }
    }
    benchmark::RunSpecifiedBenchmarks();
    bench_threads_stop();
    benchmark::Shutdown();
    return 0;
}
