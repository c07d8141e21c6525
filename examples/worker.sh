#!/bin/sh
# A dibs worker in POSIX shell: docs/protocol.md put into practice with coreutils and sed, on Linux.
#
#   worker.sh [-t TTL] [-n MAX_TASKS] [-e] QUEUE COMMAND [ARG...]
#
#   -t  whole seconds that a lease holds without a heartbeat (60); from 2
#   -n  leave after so many tasks          -e  leave when nothing is ready
#
# COMMAND gets the task's record (one line of JSON) on stdin, and DIBS_ID and DIBS_EPOCH in its environment.
# Exit 0 completes the task; anything else fails it: it is tried again later, or goes to failed/.
# SIGTERM or Ctrl-C finishes the task in hand and leaves; a second one gives it back at once.
#
# It shares a queue with any number of Python workers. It claims by priority, beats, fences itself off, honours
# `paused` and max_runtime, makes due tasks ready, and gives back what dead or silent workers of this machine held.
# Left to the Python workers: silent workers of other machines, blocked tasks, leftovers of keys, clearing up.
set -u
export LC_ALL=C

ttl=60 max_tasks=0 until_empty=
while getopts t:n:e option; do
    case $option in
    t) ttl=$OPTARG ;;
    n) max_tasks=$OPTARG ;;
    e) until_empty=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -lt 2 ]; then
    echo "usage: worker.sh [-t TTL] [-n MAX_TASKS] [-e] QUEUE COMMAND [ARG...]" >&2
    exit 2
fi
queue=$1
shift
about=$(cat "$queue/dibs.json" 2>/dev/null)
case $about in
*'"format":1,'*) ;;
*)
    echo "worker.sh: $queue is no dibs queue of format 1" >&2
    exit 1
    ;;
esac

ttl_cs=$((ttl * 100)) # times are hundredths of a second on the boottime clock, as in /proc/uptime
boot=$(cat /proc/sys/kernel/random/boot_id)
if clock_space=$(readlink /proc/self/ns/time); then boot=$boot/$clock_space; fi
space=$(readlink /proc/self/ns/pid)
host=$(tr '[:upper:]' '[:lower:]' </proc/sys/kernel/hostname | sed -E 's/[^a-z0-9]+/-/g; s/^-//' | cut -c1-24)
host=${host%-}
machine=$(cat /etc/machine-id 2>/dev/null)
number='(0|[1-9][0-9]{0,8})'
task="[0-9a-f]{32}\\.$number\\.$number\\.$number\\.(0|[1-9][0-9]{0,3})(-[0-9a-f]{12})?"
private=$(mktemp -d) || exit 1

say() { echo "worker.sh: $*" >&2; }

# Clock and processes

now() { # sets $now
    read -r now _ </proc/uptime
    now=${now%.*}${now#*.}
}

look_at() { # PID: sets $state ('-' when there is no such process) and $start: fields 3 and 22 of its stat
    state='-' start=
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    # shellcheck disable=SC2086 # split into fields; the name, which may hold blanks, is cut off first
    set -- ${line##*) }
    state=$1 start=
    [ $# -lt 20 ] || start=${20}
}

gone() { # PID START: that process is certainly no more
    look_at "$1"
    case $state in [-ZX]) return 0 ;; esac
    [ -n "$2" ] && [ "$start" != "$2" ]
}

# The session: who we are, and our heartbeat

start_session() {
    session=${host:-host}-$$-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
    now
    beat=$now sure=$((now + ttl_cs))
    write_session && set_deadline
}

write_session() {
    printf '{"session":"%s","worker":"%s","host":"%s","machine":"%s","boot":"%s","space":"%s",' \
        "$session" "$session" "${host:-host}" "${machine:-$host}" "$boot" "$space" >"$queue/tmp/$session.beat" &&
        printf '"pid":%d,"start":"%s","guard":%d,"guard_start":"%s","ttl":%d,"beat":%s,"since":%d,"sure":%s,"ended":false}\n' \
            $$ "$my_start" "$guard" "$guard_start" "$ttl" "$(seconds "$beat")" "$(date +%s)" "$(seconds "$sure")" \
            >>"$queue/tmp/$session.beat" &&
        mv "$queue/tmp/$session.beat" "$queue/workers/$session.json"
}

seconds() { echo "${1%??}.${1#"${1%??}"}"; } # HUNDREDTHS

set_deadline() {
    deadline=$((beat + ttl_cs))
    echo "$deadline" >"$private/deadline"
}

keep_session() { # beat when it is time to; false when that came too late: everything under the session is lost
    now
    [ "$now" -lt "$deadline" ] || return 1
    [ "$now" -ge $((beat + ttl_cs / 3)) ] || return 0
    beat=$now sure=$deadline
    write_session || return 1
    now
    [ "$now" -lt "$deadline" ] || return 1 # a beat counts only if it was there before the last one ran out
    set_deadline
}

# The guard: a process of its own that wakes the worker for its beats, and kills the command once the worker is
# gone or its lease is about to run out. The session names it, so nobody takes over before the command is dead.

watch_over() { # WORKER START
    trap '' INT TERM USR1
    until gone "$1" "$2"; do
        case $state in [Tt]) ;; *) kill -s USR1 "$1" 2>/dev/null ;; esac
        now
        if { read -r limit <"$private/deadline"; } 2>/dev/null && [ "$now" -ge $((limit - 30)) ]; then kill_command; fi
        sleep 0.2
    done
    for _ in 1 2 3 4 5; do
        kill_command || break
        sleep 0.1
    done
    rm -rf "$private"
}

kill_command() { # false when there is nothing left to kill
    { read -r group <"$private/command"; } 2>/dev/null && kill -s KILL -- "-$group" "$group" 2>/dev/null
}

# Steps: each is one rename from exactly the name that was seen, so one of all who try succeeds

step() { # FROM TO
    mv "$1" "$2" 2>/dev/null && return 0
    if [ -e "$1" ]; then # then it is the folder that is missing
        mkdir -p "${2%/*}" && mv "$1" "$2" 2>/dev/null
    else
        [ -e "$2" ] # gone: by our own rename, if its answer was lost on the way
    fi
}

parse() { # PATH of a task's file: sets what its name says
    IFS=. read -r id epoch attempts deaths facet holder <<NAME
${1##*/}
NAME
    tail=${id#??????????????????????????????}
    shard=$(printf %02x $((0x$tail & (shards - 1))))
    pending=$queue/pending/$(printf %04d "${facet%%-*}")/$shard
}

claim() { # PATH in pending: sets $lease
    parse "$1"
    epoch=$((epoch + 1)) holder=$session
    lease=$queue/leased/$shard/$id.$epoch.$attempts.$deaths.$facet.$session
    step "$1" "$lease" || return 1
    now
    [ "$now" -ge "$deadline" ] || return 0
    release # we slept: others may already take what hangs on this session
    return 1
}

release() { step "$lease" "$pending/$id.$epoch.$attempts.$deaths.$facet"; }

fail() { # ERROR
    attempts=$((attempts + 1))
    note "$session" failed "$1"
    after=$id.$epoch.$attempts.$deaths.$facet
    if [ "$attempts" -ge "$(limit_of max_attempts 3)" ]; then
        after=$queue/failed/$shard/$after
    else
        due=$(($(store_seconds) + (1 << (attempts < 10 ? attempts - 1 : 10)))) # 1 s, 2 s, 4 s, …
        after=$queue/scheduled/$(date -u -d "@$due" +%Y-%m-%dT%H/%M)/$after.${due}000
    fi
    step "$lease" "$after" && return
    take_back "$session"
}

expire() { # PATH in leased, HOW its holder went
    parse "$1"
    record=$(cat "$1" 2>/dev/null) || return 1
    deaths=$((deaths + 1))
    by=lost.$(od -An -N4 -tx4 /dev/urandom | tr -d ' ') # a name of our own: others may say the same
    note "$by" "$2" "worker $holder $2 while holding it"
    if [ "$deaths" -ge "$(limit_of max_deaths 5)" ]; then pending=$queue/failed/$shard; fi
    step "$1" "$pending/$id.$epoch.$attempts.$deaths.$facet" && say "took $id from $holder, which $2" && return
    take_back "$by" # somebody was quicker
}

note() { # BY WHAT ERROR: how a lease ended, written before the rename it belongs to
    mkdir -p "$queue/notes/$shard"
    printf '{"what":"%s","worker":"%s","at":%d,"error":"%s"}\n' "$2" "$holder" "$(date +%s)" "$3" \
        >"$queue/notes/$shard/$id.$epoch.$1"
}

take_back() { # BY: the step that the note was for is refused
    rm -f "$queue/notes/$shard/$id.$epoch.$1"
    return 1
}

limit_of() { # NAME DEFAULT: a number from the task's $record, whose own fields stand after the payload
    limit=$(printf '%s\n' "$record" | sed -nE 's/.*"'"$1"'":([0-9.]+).*/\1/p')
    echo "${limit:-$2}"
}

store_seconds() { # the file server's time
    touch "$queue/tmp/${host:-host}.clock"
    date -r "$queue/tmp/${host:-host}.clock" +%s
}

# Upkeep: what every claimer does now and then, so that nobody else is needed

promote_due() {
    [ -n "$(ls "$queue/scheduled")" ] || return 0
    time=$(store_seconds)
    this_minute=$queue/scheduled/$(date -u -d "@$time" +%Y-%m-%dT%H/%M)
    { ls -d "$queue"/scheduled/*/* && echo "$this_minute~"; } 2>/dev/null | sort | sed '/~$/,$d' >"$private/slots"
    while read -r slot; do
        # shellcheck disable=SC2012 # names that are not a task's do not get past sed
        for name in $(ls "$slot" 2>/dev/null | sed -nE "/^$task\\.[0-9]{1,15}\$/p"); do
            [ "${name##*.}" -le "${time}000" ] || continue
            parse "$name"
            step "$slot/$name" "$pending/${name%.*}"
        done
    done <"$private/slots"
}

recover() { # what workers of this boot held that are dead, or whose beat is older than their TTL
    [ -e /proc/1/stat ] || return 0 # processes are hidden from us, so nobody can be seen to be dead
    for file in "$queue"/workers/*.json; do
        now # before reading: an old record says nothing about later
        other=$(cat "$file" 2>/dev/null) || continue
        [ "$(field boot)" = "$boot" ] || continue
        how=
        if [ "$now" -gt $(($(cs "$(field beat)") + $(cs "$(field ttl)"))) ]; then how='fell silent'; fi
        if [ "$(field space)" = "$space" ] && was_process pid start && { [ "$(field guard)" = null ] || was_process guard guard_start; }; then
            how=died
        fi
        if [ "$(field ended)" = true ]; then how=died; fi
        [ -n "$how" ] || continue
        for held in "$queue"/leased/*/*."$(field session)"; do
            if [ -e "$held" ]; then expire "$held" "$how"; fi
        done
    done
}

field() { # NAME: from the session record $other
    printf '%s\n' "$other" | sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p'
}

was_process() { # PID FIELD, START FIELD: the session names that process, and it is gone
    pid=$(field "$1")
    case $pid in '' | *[!0-9]*) return 1 ;; esac
    gone "$pid" "$(field "$2")"
}

cs() { # SECONDS as whole hundredths, rounded up
    part=00
    case $1 in *.*) part=${1#*.}0 ;; esac
    echo $((${1%%.*} * 100 + 1${part%"${part#??}"} - 99))
}

# The loop

work() { # COMMAND…, on the task in hand
    record=$(cat "$lease") || return 0
    # `timeout` makes a process group of its own, by which the command is killed whole
    DIBS_ID=$id DIBS_EPOCH=$epoch sh -c 'echo $$ >"$0/command" && exec timeout -s KILL "$@"' \
        "$private" "$(limit_of max_runtime 0)" "$@" <"$lease" &
    command=$! status=0 outcome=
    while kill -0 "$command" 2>/dev/null; do
        wait "$command"
        status=$?
        keep_session || outcome=lost
        if [ "$stopping" -ge 2 ]; then outcome=${outcome:-released}; fi
        [ -z "$outcome" ] || kill_command
    done
    wait "$command" 2>/dev/null
    again=$?
    if [ "$again" -ne 127 ]; then status=$again; fi # 127: the loop has had it already
    : >"$private/command"
    finish
}

finish() {
    case $outcome:$status in
    lost:*) false ;;
    released:*) release ;;
    :0) outcome=completed && step "$lease" "$queue/completed/$shard/${lease##*/}" ;;
    *) outcome=failed && fail "exit status $status" ;;
    esac || outcome='lost: it was taken over, and its work here is not recorded'
    say "task $id epoch $epoch $outcome"
    done_tasks=$((done_tasks + 1))
}

look_for_work() { # COMMAND…: up to 8 tasks of one shard, highest priority first; sets $found when there was one
    found=
    # shellcheck disable=SC2012 # names that are not ours do not get past sed
    for level in $(ls -r "$queue/pending" | sed -nE '/^[0-9]{4}$/p'); do
        for folder in $(ls "$queue/pending/$level" 2>/dev/null | sed -n '/^[0-9a-f][0-9a-f]$/p' | shuf); do
            for name in $(ls "$queue/pending/$level/$folder" 2>/dev/null | sed -nE "/^$task\$/p" | head -n 8); do
                if over || [ -e "$queue/paused" ]; then return; fi
                keep_session || start_session || return
                if claim "$queue/pending/$level/$folder/$name"; then
                    found=1
                    now
                    begun=$now
                    work "$@"
                    now
                    if [ "$now" -gt $((begun + 50)) ]; then return; fi # the listing is old
                fi
            done
            if [ -n "$found" ]; then return; fi
        done
    done
}

over() {
    [ "$stopping" -gt 0 ] || { [ "$max_tasks" -gt 0 ] && [ "$done_tasks" -ge "$max_tasks" ]; }
}

leave() {
    kill -s KILL "$guard" 2>/dev/null
    rm -rf "$private" "$queue/workers/$session.json"
}

shards=$(printf '%s\n' "$about" | sed -n 's/.*"shards":\([0-9]*\).*/\1/p')
stopping=0 done_tasks=0 found='' upkeep_at=0
look_at $$
my_start=$start
trap : USR1
trap 'stopping=$((stopping + 1)); say "leaving after the task in hand; again to give it back"' INT TERM
watch_over $$ "$my_start" &
guard=$!
look_at "$guard"
guard_start=$start
trap leave EXIT
start_session || exit 1
until over; do
    now
    if [ "$now" -ge "$upkeep_at" ]; then
        upkeep_at=$((now + 100))
        promote_due
        recover
    fi
    keep_session || start_session || exit 1
    if [ -e "$queue/paused" ]; then found=; else look_for_work "$@"; fi
    if [ -z "$found" ]; then
        [ -z "$until_empty" ] || break
        sleep 0.3
    fi
done
