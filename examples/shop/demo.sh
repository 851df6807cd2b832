#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shop, alive: starts a receiver that prints traces (spool-tail) and the two services on
# free ports, sends them a dozen or so requests of several kinds, shows the traces, stops all.
#   demo.sh <build folder>
# Fails unless one trace holds spans of both services.
set -eu

build=${1:?usage: demo.sh BUILD_FOLDER}
tail_program=$build/tools/tail/spool-tail
front_program=$build/examples/shop/shop-front
stock_program=$build/examples/shop/shop-stock
for program in "$tail_program" "$front_program" "$stock_program"; do
    [ -x "$program" ] || {
        echo "demo: $program was not built" >&2
        exit 1
    }
done

scratch=$(mktemp -d)
tail_pid=''
front_pid=''
stock_pid=''
stocktaking_pid=''

# end <pid>: SIGTERM, and the wait for it. Nothing that did not start here is touched.
end() {
    [ -n "$1" ] || return 0
    kill -TERM "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null
}

clean_up() {
    status=$?
    trap - EXIT
    for pid in "$stocktaking_pid" "$front_pid" "$stock_pid" "$tail_pid"; do
        end "$pid" || true
    done
    if [ "$status" != 0 ]; then
        for log in "$scratch"/*.err; do
            [ ! -s "$log" ] || sed "s|^|$(basename "$log" .err): |" "$log" >&2
        done
    fi
    rm -rf "$scratch"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "demo: $*" >&2
    exit 1
}

# wait_until <seconds> <command>...: tries the command every tenth of a second.
wait_until() {
    tries=$(($1 * 10))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

# --- the three programs ---

# What the environment says about telemetry is not for this demo.
for name in $(env | sed -n 's/^\(OTEL_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
unset SHOP_RECORD_FILE

color=never
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    color=always
fi
width=${COLUMNS:-}
[ -n "$width" ] || width=$(stty size 2>/dev/null </dev/tty | cut -d ' ' -f 2) || width=''
[ "${width:-0}" -ge 60 ] 2>/dev/null || width=120

"$tail_program" --port 0 --quiet-ms 1000 --color "$color" --width "$width" \
    >"$scratch/tail.out" 2>"$scratch/tail.err" &
tail_pid=$!
wait_until 10 grep -qs 'listening on http' "$scratch/tail.out" || fail "spool-tail did not start"
OTEL_EXPORTER_OTLP_ENDPOINT=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p;/listening/q' "$scratch/tail.out")
OTEL_BSP_SCHEDULE_DELAY=200
OTEL_BLRP_SCHEDULE_DELAY=200
export OTEL_EXPORTER_OTLP_ENDPOINT OTEL_BSP_SCHEDULE_DELAY OTEL_BLRP_SCHEDULE_DELAY

"$stock_program" --port 0 --database "$scratch/stock.sqlite" \
    >"$scratch/stock.out" 2>"$scratch/stock.err" &
stock_pid=$!
wait_until 10 grep -qs '^listening ' "$scratch/stock.out" || fail "shop-stock did not start"
stock=http://$(sed -n 's/^listening //p' "$scratch/stock.out")

"$front_program" --port 0 --stock "$stock" >"$scratch/front.out" 2>"$scratch/front.err" &
front_pid=$!
wait_until 10 grep -qs '^listening ' "$scratch/front.out" || fail "shop-front did not start"
front=http://$(sed -n 's/^listening //p' "$scratch/front.out")

# --- what arrived, as far as it is printed ---

# One block of lines for each trace; a line begins with its service.
escape=$(printf '\033')
printed() {
    sed "s/$escape\[[0-9;]*m//g" "$scratch/tail.out"
}

both_in_one_tree() {
    printed | awk '
        /^trace / { front = stock = 0 }
        /^shop-front / { front = 1 }
        /^shop-stock / { stock = 1 }
        front && stock { found = 1 }
        END { exit !found }'
}

# traces_printed <at least>
traces_printed() {
    [ "$(printed | grep -c '^trace ')" -ge "$1" ]
}

# restocked <how many times>
restocked() {
    [ "$(printed | grep -c '^shop-stock  restock ')" -ge "$1" ]
}

# --- the requests ---

requests=1 # the stocktaking, which is not waited for
# ask <what it shows> <curl arguments>...
ask() {
    what=$1
    shift
    requests=$((requests + 1))
    code=$(curl --silent --show-error --noproxy '*' --max-time 20 --output /dev/null \
        --write-out '%{http_code}' "$@") || fail "no answer: $what"
    printf '  %s  %s\n' "$code" "$what"
}

echo "shop-front $front, shop-stock $stock, spool-tail $OTEL_EXPORTER_OTLP_ENDPOINT"
echo
echo "Requests:"
ask "an article" "$front/articles/1"
ask "another one, for a gold customer" -H 'X-Customer-Tier: gold' "$front/articles/2"
ask "an order" -X POST "$front/orders?article=2&quantity=2"
ask "an order of a caller that has a trace of its own" -X POST "$front/orders?article=3&quantity=1" \
    -H 'traceparent: 00-5b8aa5a2d2c872e8321cf37308d69df2-051581bf3cb55c13-01' \
    -H 'tracestate: vendor=opaque'
ask "an article that there is not" "$front/articles/no-such-article"
ask "a page that there is not" "$front/imprint"
ask "an order without an article" -X POST "$front/orders"
ask "an order that nearly empties a shelf" -X POST "$front/orders?article=2&quantity=2" -H 'X-Customer-Tier: silver'
ask "an order of more than there is" -X POST "$front/orders?article=4&quantity=3"
# Both shelves are filled up before the database is locked.
wait_until 15 restocked 2 || fail "shop-stock did not restock"
curl --silent --noproxy '*' --max-time 20 --output /dev/null -X POST "$front/stocktaking?hold_ms=1200" &
stocktaking_pid=$!
# The next two are to meet the lock. When it is taken cannot be seen from here; a machine that needs
# longer than this shows two requests that went well.
sleep 0.3
ask "an order while the stock is being counted" -X POST "$front/orders?article=1&quantity=1"
ask "an article in the meantime" "$front/articles/3"
wait "$stocktaking_pid" || fail "the stocktaking got no answer"
stocktaking_pid=''
printf '  200  %s\n' "the stocktaking"
ask "the same order afterwards" -X POST "$front/orders?article=1&quantity=1"

# --- what arrived ---

wait_until 15 both_in_one_tree || true
end "$front_pid" || fail "shop-front did not end well"
front_pid=''
end "$stock_pid" || fail "shop-stock did not end well"
stock_pid=''
# One for each request, each restocking, and the start of shop-stock. What is not there by now is
# printed as unfinished.
wait_until 10 traces_printed "$((requests + 3))" || true
end "$tail_pid" || fail "spool-tail did not end well"
tail_pid=''

echo
sed 1d "$scratch/tail.out"
echo
cat "$scratch"/*.err
both_in_one_tree || fail "no trace holds spans of both services"
