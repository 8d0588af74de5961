# Profiles of several runs become one, and are held against each other: results worked by hand, and everything that can be wrong with files.
source "$SOURCE/tests/cli/common.sh" || exit 1

# profile NAME EVENTS ROW...: a profile as JSON; a row is label:construct:start:count,count...
profile() {
    local name=$1 events=$2
    shift 2
    python3 - "$name" "$events" "${ARGUMENT:-10}" "$@" <<'PY'
import json, sys
name, events, argument, rows = sys.argv[1], sys.argv[2].split(), sys.argv[3], sys.argv[4:]
xus = []
for row in rows:
    label, construct, start, counts = row.split(":")
    xus.append(dict(label=label, type="task", construct=construct, thread=int(start) % 2, cpu=int(start) % 2, start_ns=int(start), active_ns=10,
                    counts=dict(zip(events, map(int, counts.split(","))))))
json.dump({"schema": "pcere.profile/1",
           "runs": [dict(program="/bin/x", build_id="ab", region=None, arguments=[argument], settings=["OMP_NUM_THREADS=2"], host="h", threads=2, level=2, blind=[],
                         wall_ns=100, xus=len(xus))],
           "events": [dict(event=e, unit="1", backend="sw", run=0, exact=False, interval=False) for e in events],
           "constructs": [dict(id="%016x" % i, construct=c) for i, c in enumerate(sorted({x["construct"] for x in xus}))],
           "nodes": [0, 1], "strategy": None, "dropped": [], "xus": xus}, open(name, "w"))
PY
}

# The examples of the unit tests: type a begins as 0/2, 0/3, 0/1 in the first run and as 0/1, 0/2 in the second.
profile i.json "i" 0/1:a:30:1 0/2:a:10:2 0/3:a:20:3 0/9:b:5:4
profile l.json "l" 0/1:a:10:10 0/2:a:20:20 0/9:b:1:40 0/10:b:2:50
run "$PCERE" combine --strategy ctc --json i.json l.json; says "ctc combines" 0
is "by type in order of start" "$(json '[.xus[] | "\(.label) \(.counts.i) \(.counts.l)"] | join(",")')" "0/2 2 10,0/3 3 20,0/9 4 40"
is "and counts what is left" "$(json '[.dropped[] | "\(.run) \(.construct) \(.xus)"] | join(",")')" "0 a 1,1 b 1"
is "each event names its run" "$(json '[.events[] | "\(.event) \(.run)"] | join(",")')" "i 0,l 1"
run "$PCERE" combine -o lgl.pcx i.json l.json; says "lgl is the default, and writes a file" 0 out '3 XUs of 2 runs by lgl' out 'could not be combined: task of b'
is "that its owner can read" "$(stat -c %a lgl.pcx)" 600
run "$PCERE" combine -o lgl.pcx i.json l.json; says "an existing file is not replaced" 2 err "lgl.pcx" err '^hint: .*--force'
run "$PCERE" combine -o lgl.pcx --force --json i.json l.json; says "but with --force" 0
holds "the document says what is in the file" jq -e '.schema == "pcere.combine/1" and .file == "lgl.pcx" and .count == 3 and .strategy == "lgl"' .out
run "$PCERE" combine --csv i.json l.json; says "as CSV" 0 out '^label,type,construct,thread,cpu,start_ns,active_ns,i,l$' out '^0/2,task,a,0,0,10,10,2,20$'

profile ci.json "c i" 0/1:a:1:0,1 0/2:a:2:4,2 0/3:a:3:10,3 0/4:a:4:9,4
profile cl.json "c l" 0/1:a:1:8,10 0/2:a:2:1,20 0/3:a:3:2,30 0/4:a:4:3,40
run "$PCERE" combine --strategy bc --divisions 2 --json ci.json cl.json; says "bc combines" 0
is "in cells, by labels" "$(json '[.xus[].counts.l] | join(",")')" "20,30,10,40"
is "and keeps the interval of what both counted" "$(json '[.xus[0].low.c, .xus[0].high.c] | join(",")')" "0,1"
run "$PCERE" combine --strategy bc --divisions 1 --json ci.json cl.json
is "one division pairs all" "$(json '[.xus[].counts.l] | join(",")')" "10,20,30,40"
run "$PCERE" combine --strategy bc-unlabeled --seed 4 --json ci.json cl.json; says "bc-unlabeled combines" 0
is "all" "$(json '[.xus[].counts.l] | sort | join(",")')" "10,20,30,40"
run "$PCERE" combine --strategy assignment --json ci.json cl.json; says "assignment combines" 0
run "$PCERE" combine --strategy bc --json i.json l.json; says "bc without an overlap is refused" 4 err 'l.json shares no event' err '^hint: '

# a virtual PMU with two counters over four events
full=(0/1:a:0:10,100,7,1 0/2:a:10:20,200,5,2 0/3:a:20:30,300,3,3)
for r in 1 2 3; do profile "f$r.json" "a b c d" "${full[@]}"; done
run "$PCERE" combine --counters 2 --json f1.json f2.json f3.json; says "a virtual PMU hides events" 0
is "runs are as many as the plan has" "$(json '.runs | length')" 2
is "and together they have all" "$(json '[.xus[2].counts | .a, .b, .c, .d] | join(",")')" "30,300,3,3"
run "$PCERE" combine --counters 2 --strategy bc --json f1.json f2.json f3.json
is "bc needs one more for its overlaps" "$(json '.runs | length')" 3
run "$PCERE" combine --counters 4 --strategy hem -o hem.pcx f1.json; says "multiplexing of what fits gives the truth" 0
run "$PCERE" combine --counters 2 --strategy hem --period 1ms -o rotated.pcx f1.json; says "multiplexing of what does not" 0
run "$PCERE" combine --counters 2 --noise 5% --seed 3 -o noisy.pcx f1.json f2.json; says "with noise" 0
run "$PCERE" combine --strategy hem -o x.pcx f1.json; says "hem without counters" 2 err 'needs --counters'
run "$PCERE" combine --noise 2% -o x.pcx f1.json f2.json; says "noise without counters" 2 err 'needs --counters'

# what is wrong
run "$PCERE" combine --counters 4 -o x.pcx f1.json f2.json; says "as many counters as events leave nothing to combine" 2 err 'one run of 4 counters has all events' err '^hint: fewer'
run "$PCERE" combine -o x.pcx i.json; says "one run only" 2 err 'nothing to combine' err '^hint: '
run "$PCERE" combine -o x.pcx i.json l.json ./i.json; says "one file twice" 2 err "'i.json' and './i.json' are one file" err '^hint: name the profile of each run once'
holds "gives nothing" test ! -e x.pcx
run "$PCERE" combine -o x.pcx; says "no run at all" 2 err 'no profile is named'
run "$PCERE" combine i.json l.json; says "nowhere for the result" 2 err 'where the result goes' err '^hint: -o'
run "$PCERE" combine --strategy bcc -o x.pcx i.json l.json; says "a strategy that there is not" 2 err "'bcc'" err 'bc-unlabeled'
run "$PCERE" combine -o x.pcx i.json none.pcx; says "a file that is not there" 2 err "no profile 'none.pcx'"
run "$PCERE" combine -o /no/such/folder/x.pcx i.json l.json; says "a folder that is not there" 5 err '/no/such/folder'
run env PCERE_FAULTS=profile.write:1:ENOSPC "$PCERE" combine -o x.pcx i.json l.json; says "a full disk" 5 err 'No space' err '^hint: '
holds "leaves nothing" test ! -e x.pcx -a ! -e x.pcx.tmp
ARGUMENT=11 profile other.json "l" 0/1:a:1:1
run "$PCERE" combine -o x.pcx i.json other.json; says "another input is refused with what differs" 4 err "arguments: '10' and '11'" err '^hint: '
jq '.runs[0].build_id = "cd"' l.json >program.json
run "$PCERE" combine -o x.pcx i.json program.json; says "another program" 4 err 'different programs'
jq '.runs[0].settings = ["OMP_NUM_THREADS=4"]' l.json >settings.json
run "$PCERE" combine -o x.pcx i.json settings.json; says "other settings" 4 err "settings: 'OMP_NUM_THREADS=2' and 'OMP_NUM_THREADS=4'"
jq '.xus = []' l.json >empty.json
run "$PCERE" combine -o x.pcx i.json empty.json; says "a profile without XUs" 4 err 'empty.json has no XUs'
profile apart.json "l" 7/1:a:1:1
run "$PCERE" combine -o x.pcx i.json apart.json; says "no label in common" 4 err 'nothing could be combined'
run "$PCERE" combine -o x.pcx i.json lgl.pcx; says "a combined profile is not combined again" 4 err 'lgl.pcx is a combined profile'
head -c 300 lgl.pcx >cut.pcx
run "$PCERE" combine -o x.pcx i.json cut.pcx; says "a file that was cut" 4 err 'cut.pcx is damaged: it is cut' err '^hint: '
python3 -c 'd = bytearray(open("lgl.pcx", "rb").read()); d[-30] ^= 4; open("flipped.pcx", "wb").write(d)'
run "$PCERE" combine -o x.pcx i.json flipped.pcx; says "a flipped bit" 4 err 'checksum'
echo hello >text.pcx
run "$PCERE" combine -o x.pcx i.json text.pcx; says "what is no profile" 4 err 'text.pcx is no profile'
jq '.xus[0].construct = "c"' l.json >odd.json
run "$PCERE" combine -o x.pcx i.json odd.json; says "a construct that is not listed" 4 err "construct 'c'"

# compare by label
profile a.json "i" 0/1:a:0:100 0/2:a:1:200 0/3:b:2:300
profile b.json "i" 0/1:a:0:100 0/2:a:1:260 0/4:b:2:300
run "$PCERE" compare a.json b.json; says "two profiles are compared" 0 out '^i +1 +600 +660 +\+10\.0 %' out '^0/2 +a +task +200 +260 +\+30\.0 %' out '^1 XU is only in A, 1 only in B'
run "$PCERE" compare a.json b.json --json
is "one XU changed" "$(json '.events[0] | "\(.matched) \(.changed) \(.top[0].label) \(.top[0].confidence)"')" "2 1 0/2 null"
is "sums by construct" "$(json '[.groups[] | "\(.construct) \(.sums.i.a) \(.sums.i.b)"] | sort | join(",")')" "a 300 360,b 300 300"
for by in thread core node; do
    run "$PCERE" compare a.json b.json --by $by --json
    is "sums by $by" "$(json "[.groups[] | .$by] | length")" 2
done
for r in 1 2 3; do
    profile "a$r.json" "i" 0/1:a:0:$((100 + r)) 0/2:a:1:$((200 + r))
    profile "b$r.json" "i" 0/1:a:0:$((99 + 2 * r)) 0/2:a:1:$((300 + r))
done
profile a4.json i 0/1:a:0:100 0/2:a:1:200
profile b4.json i 0/1:a:0:100 0/2:a:1:300
run "$PCERE" compare a1.json,a2.json,a3.json,a4.json b1.json,b2.json,b3.json,b4.json --json; says "repeats are joined by commas" 0
is "and tell what is sure" "$(json '.events[0] | "\(.sure) \(.top[0].label) \(.top[0].confidence * 1000 | floor)"')" "1 0/2 971"
run "$PCERE" compare a.json b.json --csv; says "as CSV" 0 out '^i,0/2,task,a,200,260,$'
run "$PCERE" compare a.json other.json --event ii; says "an unknown event has a nearest name" 2 err "'ii' was not measured" err '^hint: did you mean i\?'
run "$PCERE" compare a.json other.json; says "without an event in common there is the active time" 0 out '^active-time +ns +30 ns +10 ns +-66\.7 %'
ARGUMENT=11 profile d.json "i" 0/1:a:1:1
run "$PCERE" compare a.json d.json; says "what else differs is said" 0 out 'Not the same run: .*arguments'
run "$PCERE" compare a.json; says "one side alone has its sums" 0 out '^a +2 +300 +20 ns$' out '^all +3 +600 +30 ns$'
run "$PCERE" compare a.json --csv --event i; says "as CSV" 0 out '^construct,xus,i$' out '^b,1,300$'
run "$PCERE" compare a.json --json --by thread
is "and JSON" "$(json '"\(.events | map(.sum) | tostring) \(.groups[0].thread) \(.groups[0].sums["active-time"])"')" "[600,30] thread 0 20"
run "$PCERE" compare a.json --top 3; says "without what changed" 2 err 'one side alone'
run "$PCERE" compare a.json b.json a.json; says "three sides" 2 err 'two sides are compared, not 3'
run "$PCERE" compare a.json b.json --by cpu; says "an unknown grouping" 2 err "'cpu'" err '^hint: construct'
jq '.runs[0].program = "/bin/elsewhere" | .runs[0].build_id = "77" | .xus[].label |= "9." + .' a.json >elsewhere.json
run "$PCERE" compare a.json elsewhere.json; says "a profile of another program" 4 err 'no XU has a partner: a.json and elsewhere.json are of different programs' err '^hint: compare profiles of one program'
run "$PCERE" compare a.json empty.json; says "a side without XUs" 4 err 'has no XUs'

# compare by dissimilarity, as the unit test works it out: 4/3
profile r1.json "x y z" 0/1:a:1:0,0,7 0/2:a:2:10,10,7
profile r2.json "x y z" 0/1:a:1:0,0,7 0/2:a:2:10,5,7
profile p.json "x y z" 0/1:a:1:0,0,7 0/2:a:2:10,0,7
run "$PCERE" compare --epd r1.json,r2.json --bins 2 p.json r1.json; says "profiles are judged" 0 out '^p.json +measured +1\.33 +2' out 'In 1 of 3 pairs'
run "$PCERE" compare --epd r1.json,r2.json --bins 2 p.json --json
is "with 4/3 as worked by hand" "$(json '.profiles[0] | "\(.epd * 30000 | round) \(.pairs) \(.zero_same) \(.distances[0])"')" "40000 2 1 1"
run "$PCERE" compare --epd r1.json,r2.json --csv p.json; says "as CSV" 0 out '^p.json,measured,'
run "$PCERE" compare --epd r1.json p.json; says "one reference alone calibrates nothing" 0 out '3 of 3 pairs of events are in one reference alone'
run "$PCERE" compare --epd r1.json,r2.json; says "nothing to judge" 2 err 'no profile is named'
run "$PCERE" compare --epd i.json i.json; says "one event makes no pair" 4 err 'two events'
run "$PCERE" compare --epd r1.json,r2.json i.json; says "events that references do not have" 4 err 'has no pair of events'
run "$PCERE" compare --epd r1.json --by thread p.json; says "options of the other sort" 2 err 'not for --epd'
run "$PCERE" compare --epd r1.json --floor x p.json; says "a floor that is no number" 2 err "'x'"
finish
