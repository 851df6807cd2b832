// SPDX-License-Identifier: Apache-2.0
//! The workloads of rows 1 to 11 and 13 in Rust: tracing, tracing-subscriber's registry, its formatting
//! layer to a writer that discards, its env-style filter, the slab crate. One process runs one case,
//! since its subscriber is the process's global default, the fastest way that tracing has; it prints
//! one line of JSON. Threads are made before, are pinned, and take the time inside.
//!
//!     spool-peer-tracing list
//!     spool-peer-tracing <case> [<share of the operations, in percent>]
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::io;
use std::sync::{Arc, Barrier};
use std::thread;

use tracing::span::{Attributes, Id};
use tracing::{debug, info, info_span, Span, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer, Registry};

// ---- counting ----

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        System.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        System.alloc_zeroed(layout)
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        System.realloc(memory, layout, size)
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// ---- the harness, as in bench/harness/threads.c ----

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn pin(index: usize) {
    unsafe {
        let processors = libc::sysconf(libc::_SC_NPROCESSORS_ONLN).max(1) as usize;
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(index % processors, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}

#[derive(Clone, Copy, Default)]
struct Part {
    start: u64,
    end: u64,
    cpu: u64,
    allocations: u64,
    figure: f64,
}

/// Runs `body(ops)` for the time, after `body(ops / 8 + 1)` to warm up. What it returns is the figure.
fn timed(ops: u64, barrier: &Barrier, mut body: impl FnMut(u64) -> f64) -> Part {
    body(ops / 8 + 1);
    barrier.wait();
    let allocations = ALLOCATIONS.with(|n| n.get());
    let cpu = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let start = clock_ns(libc::CLOCK_MONOTONIC);
    let figure = body(ops);
    let end = clock_ns(libc::CLOCK_MONOTONIC);
    Part {
        start,
        end,
        cpu: clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) - cpu,
        allocations: ALLOCATIONS.with(|n| n.get()) - allocations,
        figure,
    }
}

fn report(case: &str, ops: u64, parts: &[Part]) {
    let total = ops as f64 * parts.len() as f64;
    let first = parts.iter().map(|p| p.start).min().unwrap();
    let last = parts.iter().map(|p| p.end).max().unwrap();
    let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum::<u64>() as f64 / total;
    println!(
        "{{\"name\": \"{}/tracing\", \"ns\": {:.4}, \"cpu_ns\": {:.4}, \"wall_ns\": {:.4}, \
         \"mallocs\": {:.6}, \"figure\": {}}}",
        case,
        sum(|p| p.end - p.start),
        sum(|p| p.cpu),
        (last - first) as f64 / total,
        sum(|p| p.allocations),
        parts[0].figure
    );
}

/// One thread, or several: each runs `work` with its index, and calls `timed` inside.
fn run<F>(case: &str, threads: usize, ops: u64, work: F)
where
    F: Fn(u64, &Barrier) -> Part + Send + Sync + 'static,
{
    let work = Arc::new(work);
    let barrier = Arc::new(Barrier::new(threads));
    let handles: Vec<_> = (0..threads)
        .map(|index| {
            let work = work.clone();
            let barrier = barrier.clone();
            thread::spawn(move || {
                pin(index);
                work(ops, &barrier)
            })
        })
        .collect();
    let parts: Vec<Part> = handles.into_iter().map(|h| h.join().unwrap()).collect();
    report(case, ops, &parts);
}

// ---- subscribers ----

struct Discard;

impl io::Write for Discard {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        black_box(text);
        Ok(text.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn global(subscriber: impl Subscriber + Send + Sync) {
    tracing::subscriber::set_global_default(subscriber).unwrap();
}

/// Registry and formatting layer; no colours, else as it comes.
fn formatting() {
    global(
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(|| Discard)
            .finish(),
    );
}

/// A layer that inserts extensions of 16, 32 and 64 bytes into each new span.
struct Inserts(usize);
struct One(#[allow(dead_code)] [u64; 2]);
struct Two(#[allow(dead_code)] [u64; 4]);
struct Three(#[allow(dead_code)] [u64; 8]);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Inserts {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        if self.0 > 0 {
            extensions.insert(One([1; 2]));
        }
        if self.0 > 1 {
            extensions.insert(Two([2; 4]));
        }
        if self.0 > 2 {
            extensions.insert(Three([3; 8]));
        }
    }
}

/// A subscriber that records nothing, for filters: as in tracing-subscriber's own benches.
struct Nothing;

impl Subscriber for Nothing {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(0xDEADFACE)
    }
    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        black_box(event);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn filtered(directives: &str) {
    let filter: EnvFilter = directives.parse().unwrap();
    global(Nothing.with(filter));
}

// ---- loops ----

fn events(n: u64, ops: u64) -> f64 {
    for _ in 0..ops.div_ceil(n) {
        for k in 0..n {
            info!(target: "bench", n = k);
        }
    }
    0.0
}

fn statements(ops: u64) -> f64 {
    for i in 0..ops {
        debug!(n = i, "statement");
        black_box(&i);
    }
    0.0
}

fn chains(n: u64, ops: u64) -> f64 {
    for _ in 0..ops.div_ceil(n) {
        let mut span = info_span!("parent");
        for k in 0..n {
            let child = info_span!(parent: &span, "parent2", n = k, i = n);
            child.in_scope(|| info!(target: "bench", n = k));
            span = child;
        }
    }
    0.0
}

fn live_chains(n: u64, ops: u64) -> f64 {
    for _ in 0..ops.div_ceil(n) {
        let mut chain: Vec<Span> = Vec::with_capacity(n as usize);
        let mut parent = Span::none();
        for k in 0..n {
            let child = info_span!(parent: &parent, "parent2", n = k, i = n);
            parent = child.clone();
            chain.push(child);
        }
        drop(parent);
        // Youngest first: the other way round each close of the last would recurse up the chain.
        while chain.pop().is_some() {}
    }
    0.0
}

fn new_spans(ops: u64) -> f64 {
    for i in 0..ops {
        black_box(info_span!("span", n = i));
    }
    0.0
}

fn repeats(ops: u64) -> f64 {
    let first = info_span!("span").id();
    for i in 1..ops {
        if info_span!("span").id() == first {
            return i as f64;
        }
    }
    0.0
}

// ---- row 11: a list by hand over the slab crate ----

struct Seat {
    value: u64,
    prev: Option<usize>,
    next: Option<usize>,
}

fn slab_list(ops: u64) -> f64 {
    const NODES: usize = 10_000;
    let mut slab: slab::Slab<Seat> = slab::Slab::with_capacity(NODES);
    for _ in 0..ops {
        let (mut head, mut tail): (Option<usize>, Option<usize>) = (None, None);
        let mut value = 0;
        while slab.len() < slab.capacity() {
            let key = slab.insert(Seat { value, prev: tail, next: None });
            match tail {
                Some(last) => slab[last].next = Some(key),
                None => head = Some(key),
            }
            tail = Some(key);
            value += 1;
        }
        let mut expected = 0;
        while let Some(key) = head {
            head = slab[key].next;
            match head {
                Some(next) => slab[next].prev = None,
                None => tail = None,
            }
            let seat = slab.remove(key);
            assert!(seat.value == expected && seat.prev.is_none());
            expected += 1;
        }
        assert!(expected == value && tail.is_none());
    }
    0.0
}

// ---- row 13: a vector of free indices ----

fn vector_rounds(length: u16, ops: u64) -> f64 {
    for _ in 0..ops {
        let mut free: Vec<u16> = (0..length).rev().collect();
        let mut taken = 0;
        while let Some(index) = free.pop() {
            black_box(index);
            taken += 1;
        }
        assert!(taken == length);
        for index in 0..length {
            free.push(index);
        }
        black_box(&free);
    }
    0.0
}

// ---- cases ----

const EVENTS: u64 = 200_000;
const CHAINED: u64 = 20_000;
const STATEMENTS: u64 = 2_000_000;

const CASES: &[&str] = &[
    "01/event_root/n1",
    "01/event_root/n10",
    "01/event_root/n50",
    "02/event_in_span/n1",
    "02/event_in_span/n10",
    "02/event_in_span/n50",
    "03/event_root_threads/t1",
    "03/event_root_threads/t2",
    "03/event_root_threads/t4",
    "04/event_own_parent/t1",
    "04/event_own_parent/t2",
    "04/event_own_parent/t4",
    "05/event_shared_parent/t1",
    "05/event_shared_parent/t2",
    "05/event_shared_parent/t4",
    "06/span_chain/n1_t4",
    "06/span_chain/n10_t4",
    "06/span_chain/n50_t4",
    "06/live_chain/n10",
    "06/live_chain/n100",
    "06/live_chain/n1000",
    "06/live_chain/n10000",
    "07/new_span/ext0",
    "07/new_span/ext1",
    "07/new_span/ext2",
    "07/new_span/ext3",
    "08/id_repeat/one_thread",
    "09/disabled_event/no_sdk",
    "09/disabled_event/severity",
    "09/disabled_span/no_sdk",
    "09/static/baseline",
    "09/static/single",
    "09/static/enabled_one",
    "09/static/enabled_many",
    "09/static/disabled_level_one",
    "09/static/disabled_level_many",
    "09/static/disabled_one",
    "09/static/disabled_many",
    "09/static/enabled_many_t4",
    "09/layer_filter/directive",
    "09/dynamic/baseline",
    "09/dynamic/single",
    "09/mixed/disabled",
    "09/mixed/by_level",
    "10/enter_exit/enabled",
    "10/enter_exit/disabled",
    "10/enter_many/depth3",
    "11/slab_list/10k",
    "13/fill_drain/256",
    "13/fill_drain/1024",
    "13/fill_drain/2048",
    "13/fill_drain/4096",
];

fn number(text: &str, prefix: char) -> u64 {
    let at = text.find(prefix).unwrap() + 1;
    let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn event_case(case: &str, workload: &str, parameter: &str, scale: impl Fn(u64) -> u64) {
    formatting();
    let threads = if parameter.contains('t') { number(parameter, 't') as usize } else { 1 };
    let n = if parameter.contains('n') { number(parameter, 'n') } else { 1 };
    let ops = scale(EVENTS).div_ceil(n) * n;
    let own = matches!(workload, "event_in_span" | "event_own_parent");
    let shared = match workload {
        "event_shared_parent" => info_span!("shared_parent", foo = false),
        _ => Span::none(),
    };
    run(case, threads, ops, move |ops, barrier| {
        let span = if own { info_span!("unique_parent", foo = false) } else { shared.clone() };
        if span.is_none() {
            return timed(ops, barrier, |ops| events(n, ops));
        }
        let _entered = span.enter();
        timed(ops, barrier, |ops| events(n, ops))
    });
}

fn chain_case(case: &str, workload: &str, parameter: &str, scale: impl Fn(u64) -> u64) {
    let n = number(parameter, 'n');
    let ops = scale(CHAINED).div_ceil(n) * n;
    if workload == "live_chain" {
        global(Registry::default().with(Inserts(0)));
        return run(case, 1, ops, move |ops, barrier| timed(ops, barrier, |ops| live_chains(n, ops)));
    }
    formatting();
    let shared = info_span!("shared_parent", foo = false);
    run(case, number(parameter, 't') as usize, ops, move |ops, barrier| {
        let parent = shared.clone();
        let _entered = parent.enter();
        timed(ops, barrier, |ops| chains(n, ops))
    });
}

fn filter_case(case: &str, workload: &str, parameter: &str, ops: u64) {
    let directives = match (workload, parameter) {
        ("static", "single") => "debug",
        ("static", "enabled_one") => "spool_peer_tracing=debug",
        ("static", "enabled_many" | "enabled_many_t4") => {
            "foo=info,bar=warn,baz=error,qux=trace,spool_peer_tracing=debug"
        }
        ("static", "disabled_level_one") => "spool_peer_tracing=info",
        ("static", "disabled_level_many") => {
            "foo=info,bar=warn,baz=error,qux=trace,spool_peer_tracing=info"
        }
        ("static", "disabled_one") => "foo=debug",
        ("static", "disabled_many") => "foo=debug,bar=trace,baz=error,qux=info,quux=debug",
        ("dynamic", "single") => "[foo]=trace",
        ("mixed", "disabled") => "[foo]=trace,bar[quux]=debug,spool_peer_tracing=info",
        ("mixed", "by_level") => "[foo]=trace,spool_peer_tracing=info",
        _ => "",
    };
    if workload == "layer_filter" {
        let filter: EnvFilter = "spool_peer_tracing=info".parse().unwrap();
        global(Registry::default().with(Inserts(0).with_filter(filter)));
    } else if directives.is_empty() {
        global(Nothing);
    } else {
        filtered(directives);
    }
    if workload == "dynamic" {
        // Inside a span that the directive names.
        return run(case, 1, ops, move |ops, barrier| {
            timed(ops, barrier, |ops| info_span!("foo").in_scope(|| statements(ops)))
        });
    }
    let threads = if parameter.ends_with("_t4") { 4 } else { 1 };
    run(case, threads, ops, |ops, barrier| timed(ops, barrier, statements));
}

fn current_case(case: &str, workload: &str, parameter: &str, ops: u64) {
    if parameter != "disabled" {
        global(Registry::default().with(Inserts(0)));
    }
    let many = workload == "enter_many";
    run(case, 1, ops, move |ops, barrier| {
        let one = info_span!("span");
        let two = info_span!(parent: &one, "span");
        let three = info_span!(parent: &two, "span");
        timed(ops, barrier, |ops| {
            if many {
                for _ in 0..ops.div_ceil(3) {
                    let _one = one.enter();
                    let _two = two.enter();
                    black_box(&three.enter());
                }
            } else {
                for _ in 0..ops {
                    black_box(&one.enter());
                }
            }
            0.0
        })
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let case = arguments.get(1).map_or("list", String::as_str);
    let share: u64 = arguments.get(2).map_or(100, |s| s.parse().unwrap());
    let scale = |ops: u64| (ops * share / 100).max(1);
    if case == "list" {
        for name in CASES {
            println!("{name}");
        }
        return;
    }
    if !CASES.contains(&case) {
        eprintln!("spool-peer-tracing: no case '{case}'");
        std::process::exit(2);
    }
    let words: Vec<&str> = case.split('/').collect();
    let (row, workload, parameter) = (words[0], words[1], words[2]);
    match row {
        "01" | "02" | "03" | "04" | "05" => event_case(case, workload, parameter, scale),
        "06" => chain_case(case, workload, parameter, scale),
        "07" => {
            global(Registry::default().with(Inserts(number(parameter, 't') as usize)));
            run(case, 1, scale(EVENTS), |ops, barrier| timed(ops, barrier, new_spans));
        }
        "08" => {
            // With a layer: without one the registry never frees a span.
            global(Registry::default().with(Inserts(0)));
            run(case, 1, scale(STATEMENTS), |ops, barrier| timed(ops, barrier, repeats));
        }
        "09" if workload == "disabled_event" => {
            if parameter == "severity" {
                global(Nothing.with(LevelFilter::INFO));
            }
            run(case, 1, scale(STATEMENTS), |ops, barrier| timed(ops, barrier, statements));
        }
        "09" if workload == "disabled_span" => {
            run(case, 1, scale(STATEMENTS), |ops, barrier| timed(ops, barrier, new_spans));
        }
        "09" => filter_case(case, workload, parameter, scale(STATEMENTS)),
        "10" => current_case(case, workload, parameter, scale(STATEMENTS / 2)),
        "11" => run(case, 1, scale(50), |ops, barrier| timed(ops, barrier, slab_list)),
        _ => {
            let length: u16 = parameter.parse().unwrap();
            let ops = scale(4_000_000 / u64::from(length));
            run(case, 1, ops, move |ops, barrier| {
                timed(ops, barrier, |ops| vector_rounds(length, ops))
            });
        }
    }
}
