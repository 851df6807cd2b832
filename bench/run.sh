#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmarks; ./dev bench calls it.
#   run.sh <build folder>            Spool's, interleaved at random in one process
#   run.sh <build folder> peers      case by case beside the same workloads in Rust; then the
#                                    stress programs; writes docs/performance.md
# BENCH_RUNS=<n>      repetitions, 11 unless given; docs/performance.md needs at least 11
# BENCH_ONLY=<regex>  the cases whose name it matches
set -eu
build=$1
mode=${2:-ours}
runs=${BENCH_RUNS:-11}
only=${BENCH_ONLY:-.}
bench=$build/bench/spool-bench
results=$build/bench/results
[ -x "$bench" ] || {
    echo "bench: $bench was not built: is Google Benchmark (Debian: libbenchmark-dev) installed?" >&2
    exit 1
}
rm -rf "$results"
mkdir -p "$results"

# ours <file> <repetitions> <regex>
ours() {
    "$bench" --benchmark_filter="$3" --benchmark_repetitions="$2" \
        --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=false \
        --benchmark_out="$1" --benchmark_out_format=json >"$results/log" 2>&1 || {
        cat "$results/log" >&2
        exit 1
    }
}

# stress <program>...: their figures, one `name value unit` a line.
stress() {
    for program in "$@"; do
        [ -x "$build/stress/$program" ] || continue
        echo "bench: $program"
        "$build/stress/$program" >"$results/$program.figures" || {
            cat "$results/$program.figures" >&2
            echo "bench: $program failed" >&2
            exit 1
        }
    done
}

case $mode in
ours)
    ours "$results/ours.json" "$runs" "$only"
    exec python3 bench/report.py "$results"
    ;;
peers) ;;
*)
    echo "bench: what is '$mode'?" >&2
    exit 2
    ;;
esac

command -v cargo >/dev/null 2>&1 || {
    echo "bench: the peers need a Rust toolchain (cargo)" >&2
    exit 1
}
target=$build/bench/peers
(cd bench/peers/tracing && CARGO_TARGET_DIR="$OLDPWD/$target" cargo build --locked --release --quiet)
peer=$target/release/spool-peer-tracing
(cd bench/peers/tracing && sed -n '/^\[profile.release\]/,$p' Cargo.toml) >"$results/peer.flags"
cargo --version >"$results/peer.version"
rustc --version >>"$results/peer.version"
sed -n '/^name = "\(tracing\|tracing-core\|tracing-subscriber\|sharded-slab\|slab\)"/{N;s/name = "\(.*\)"\nversion = "\(.*\)"/\1 \2/p;}' \
    bench/peers/tracing/Cargo.lock >>"$results/peer.version"

# Every workload of either side: "row/workload/parameter".
{
    "$bench" --benchmark_list_tests --benchmark_filter="$only" | sed 's|/iterations:.*||; s|/[^/]*$||'
    "$peer" list
} | grep -E "$only" | LC_ALL=C sort -u >"$results/workloads"
"$peer" list >"$results/peer.list"
run=1
while [ "$run" -le "$runs" ]; do
    echo "bench: run $run of $runs"
    number=0
    while read -r workload; do
        number=$((number + 1))
        if grep -qxF "$workload" "$results/peer.list"; then
            "$peer" "$workload" >>"$results/peer.lines"
        fi
        ours "$results/ours.$run.$number.json" 1 "^$workload/"
    done <"$results/workloads"
    run=$((run + 1))
done
stress deep_chain thread_memory live_spans one_parent
exec python3 bench/report.py "$results" docs/performance.md
