# Timelines for Chrome's viewer and Perfetto's: a developer's trace becomes the user's view, event by event.
source "$(dirname "$0")/common.sh"
mkdir ompc
cat >ompc/head.json <<'END'
{"traceEvents":[{"ph":"M","pid":0,"tid":0,"name":"process_name","args":{"name":"Head Process"}},
{"ph":"M","pid":0,"tid":1,"name":"thread_name","args":{"name":"Worker Thread"}},
{"ph":"X","pid":0,"tid":0,"ts":0,"dur":1000,"name":"Runtime Execution"},
{"ph":"X","pid":0,"tid":0,"ts":1,"dur":2,"name":"schedule_internal"},
{"ph":"X","pid":0,"tid":1,"ts":50,"dur":300,"name":"Target Nowait","args":{"task_id":1,"source_location":"a.c:3:1"}},
{"ph":"X","pid":0,"tid":1,"ts":60,"dur":5,"name":"Submit / Begin","args":{"mpi_tag":4,"origin":0,"destination":1,"variable":"A[:n]","source_location":"a.c:2:7"}},
{"ph":"X","pid":0,"tid":1,"ts":70,"dur":5,"name":"Submit / End","args":{"mpi_tag":4,"origin":0,"destination":1}},
{"ph":"X","pid":0,"tid":1,"ts":90,"dur":220,"name":"Execute","args":{"task_id":1,"source_location":"a.c:3:1"}},
{"ph":"X","pid":0,"tid":2,"ts":390,"dur":120,"name":"Execute","args":{"task_id":2,"source_location":"a.c:9:1"}}]}
END
cat >ompc/worker.json <<'END'
{"traceEvents":[{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"Worker Process 0"}},
{"ph":"X","pid":1,"tid":1,"ts":100,"dur":200,"name":"Task 1","args":{"source_location":"a.c:3:1"}},
{"ph":"X","pid":1,"tid":1,"ts":400,"dur":100,"name":"Task 2","args":{"source_location":"a.c:9:1"}},
{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"Submit / Begin","args":{"mpi_tag":4,"origin":0,"destination":1}},
{"ph":"X","pid":1,"tid":2,"ts":12,"dur":10,"name":"Alloc / Begin","args":{"mpi_tag":5,"origin":0,"destination":1}},
{"ph":"X","pid":1,"tid":2,"ts":30,"dur":5,"name":"Submit / End","args":{"mpi_tag":4,"origin":0,"destination":1}},
{"ph":"X","pid":1,"tid":2,"ts":40,"dur":5,"name":"Alloc / End","args":{"mpi_tag":5,"origin":0,"destination":1}}]}
END
echo 'digraph G { V1 [label="1"]; V2 [label="2"]; V1 -> V2; }' >ompc/graph.dot
names() { jq -r '[.traceEvents[] | select(.ph == "X") | .name] | sort | join("; ")' "$1"; }
arrows() { jq -r '[.traceEvents[] | select(.ph == "s" or .ph == "f") | .ph + " " + .cat] | group_by(.) | map("\(length) \(.[0])") | join("; ")' "$1"; }

run "$PCERE" timeline ompc -o user.json; says "the user's view" 0 err '11 slices, 5 arrows'
is "it names what the user knows" "$(names user.json)" \
    'A[:n]; Alloc / Begin; Alloc / End; Execute; Execute; Runtime Execution; Submit; Submit / Begin; Submit / End; Target (Nowait); Task 1; Task 2'
is "with arrows of each sort" "$(arrows user.json)" '2 f Communication; 1 f Tasks; 2 f Worker Process 0; 2 s Communication; 1 s Tasks; 2 s Worker Process 0'
is "the head's begin and end are one" "$(jq -c '.traceEvents[] | select(.name == "Submit") | [.ts, .dur]' user.json)" '[60,15]'
is "arguments are there" "$(jq -c '.traceEvents[] | select(.name == "Submit") | .args | [.origin, .destination, .location, .mpi_tag, .source_location]' user.json)" '[0,1,0,4,"a.c:2:7"]'
is "colours go with places" "$(jq -r '[.traceEvents[] | select(.cname) | .cname] | unique | length' user.json)" 2
is "arrows lie in their slices" "$(jq '[.traceEvents[] | select(.ph == "s")] as $s | [.traceEvents[] | select(.ph == "X")] as $x |
    [$s[] | . as $a | any($x[]; .tid == $a.tid and .ts <= $a.ts and $a.ts <= .ts + .dur)] | all' user.json)" true
run "$PCERE" timeline ompc --view developer -o developer.json; says "the developer's view" 0 err '0 arrows'
is "has each event under its name" "$(names developer.json)" \
    'Alloc / Begin; Alloc / End; Execute; Execute; Runtime Execution; Submit / Begin; Submit / Begin; Submit / End; Submit / End; Target Nowait; Task 1; Task 2; schedule_internal'
run "$PCERE" timeline ompc --no-arrows --from 380us --to 600us -o cut.json; says "cut by time" 0 err ' 3 slices'
run "$PCERE" timeline ompc --least 50us --no-arrows -o coarse.json; says "made coarser" 0
is "short ones are shown as one" "$(jq -r '[.traceEvents[] | select(.ph == "X" and (.name | test("short"))) | .name] | sort | join("; ")' coarse.json)" '1 short events; 4 short events'
run "$PCERE" metrics omp user.json --json; says "what was written is read back" 0
is "with the same tasks" "$(json '.runs[0].metrics["Number of tasks"]')" 2

run "$PCERE" timeline ompc -o user.pftrace --json; says "Perfetto's format" 0 out '"slices": 11'
if command -v protoc >/dev/null; then
    status=0; protoc "-I$SOURCE/tests/cli" --decode=Trace perfetto.proto <user.pftrace >.out 2>.err || status=$?
    says "is what its schema says" 0 out 'process_name: "Head Process"' out 'name: "Task 2"' out 'name: "source_location"' out 'name: "A\[:n\]"'
    is "each slice that begins ends" "$(grep -c 'type: SLICE_BEGIN' .out)" "$(grep -c 'type: SLICE_END' .out)"
    is "no field is unknown" "$(grep -cE '^ *[0-9]+: ' .out)" 0
    is "arrows begin and end" "$(grep -c ' flow_ids' .out) $(grep -c 'terminating_flow_ids' .out)" "5 5"
    cat >slices.py <<'END'
import collections, re, sys
times, names, tracks, slices, open_ones = collections.Counter(), {}, {}, [], collections.defaultdict(list)
for packet in re.split(r"^packet \{\n", sys.stdin.read(), flags=re.M)[1:]:
    number = lambda field: int((re.search(r"^ *%s: (\d+)" % field, packet, re.M) or [0, 0])[1])
    sequence = number("trusted_packet_sequence_id")
    if "trace_packet_defaults" in packet:
        assert "is_incremental: true" in packet and number("timestamp_clock_id") == 64, packet
        tracks[sequence] = number("track_uuid")
        continue
    for iid, name in re.findall(r'event_names \{\s*iid: (\d+)\s*name: "([^"]*)"', packet):
        names[sequence, int(iid)] = name
    if "track_event {" not in packet:
        continue
    times[sequence] += number("timestamp")
    if "SLICE_BEGIN" in packet:
        name = re.search(r'^    name: "([^"]*)"', packet, re.M)
        iid = re.search(r"^    name_iid: (\d+)", packet, re.M)
        open_ones[sequence].append((name[1] if name else names[sequence, int(iid[1])], times[sequence]))
    else:
        name, begin = open_ones[sequence].pop()
        slices.append("%s %d+%d" % (name, begin / 1000, (times[sequence] - begin) / 1000))
assert not any(open_ones.values()) and len(set(tracks.values())) == len(tracks)
print("; ".join(sorted(slices)))
END
    is "clocks that count from packet to packet give the times" "$(python3 slices.py <.out)" \
        "$(jq -r '.traceEvents[] | select(.ph == "X") | "\(.name) \(.ts | floor)+\(.dur | floor)"' user.json | LC_ALL=C sort | sed -z 's/\n/; /g; s/; $//')"
fi

run "$PCERE" timeline ompc; says "no place for it" 2 err 'where does the timeline go'
run "$PCERE" timeline ompc -o user.json; says "a file is not overwritten" 2 err 'File exists'
run "$PCERE" timeline ompc -o x.json --from 5; says "a time without a unit" 2 err 'is no time'
run "$PCERE" timeline ompc -o x.json --from 5s --to 1s; says "a window that ends before it begins" 2 err 'before'
run "$PCERE" timeline ompc -o x.json --view all; says "an unknown view" 2 err "'all'"
run "$PCERE" timeline ompc -o x.json --format vampir; says "an unknown format" 2 err "'vampir'"
run "$PCERE" timeline ompc/graph.dot -o x.json; says "a graph is no trace" 2 err 'has no trace'
run "$PCERE" timeline ompc --force -o /dev/full; says "a full disk" 5 err 'cannot write'

# a golden pair: developer's files in, the user's view out, whole
mkdir small
cp ompc/head.json small/head.json
run "$PCERE" timeline small --no-arrows -o small.json; says "a head alone" 0
cat >wanted.json <<'END'
{"ph":"M","name":"process_name","args":{"name":"Head Process"}}
{"ph":"M","name":"process_name","args":{"name":"Head Process"}}
{"ph":"M","name":"process_name","args":{"name":"Head Process"}}
{"ph":"M","name":"thread_name","args":{"name":"Worker Thread"}}
{"ph":"X","ts":0,"dur":1000,"name":"Runtime Execution"}
{"ph":"X","ts":50,"dur":300,"name":"Target (Nowait)","args":{"task_id":1,"source_location":"a.c:3:1"}}
{"ph":"X","ts":60,"dur":15,"name":"A[:n]","args":{"mpi_tag":4,"origin":0,"destination":1,"location":0,"source_location":"a.c:2:7"}}
{"ph":"X","ts":60,"dur":15,"name":"Submit","args":{"mpi_tag":4,"origin":0,"destination":1,"location":0,"source_location":"a.c:2:7"}}
{"ph":"X","ts":90,"dur":220,"name":"Execute","args":{"task_id":1,"source_location":"a.c:3:1"}}
{"ph":"X","ts":390,"dur":120,"name":"Execute","args":{"task_id":2,"source_location":"a.c:9:1"}}
END
is "becomes exactly this" "$(jq -c '.traceEvents[] | del(.pid, .tid, .cname)' small.json | sort)" "$(sort wanted.json)"

# pictures
run "$PCERE" timeline ompc -o picture.svg; says "a picture" 0 err '11 slices, 5 arrows'
run "$PCERE" timeline ompc -o page.html; says "and a page with one" 0
cat >picture.py <<'END'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
name = "{http://www.w3.org/2000/svg}"
titled = [r for r in root.iter(name + "rect") if r.find(name + "title") is not None]
titles = [r.find(name + "title").text for r in titled]
words = [t.text for t in root.iter(name + "text")]
assert len(titled) == 11, titles
assert "Submit of A[:n], a.c:2:7, 15.0 us" in titles and "Task 1, a.c:3:1, 200 us" in titles, titles
assert "Head Process" in words and "Worker Process 0" in words and "a.c:9:1" in words, words
run = next(r for r, t in zip(titled, titles) if t.startswith("Runtime"))
task = next(r for r, t in zip(titled, titles) if t.startswith("Task 2"))
assert abs(float(task.get("width")) / float(run.get("width")) - 0.1) < 0.001
assert abs((float(task.get("x")) - float(run.get("x"))) / float(run.get("width")) - 0.4) < 0.001
lines = [l for l in root.iter(name + "line") if l.get("class") == "worker"]
assert len(lines) == 2
rows = {t: int(r.get("y")) for r, t in zip(titled, titles)}
for line in lines:                                   # from an Execute's row to a Task's
    inside = lambda y, word: any(row <= y <= row + 11 for t, row in rows.items() if t.startswith(word))
    assert inside(int(line.get("y1")), "Execute") and inside(int(line.get("y2")), "Task"), (rows, line.attrib)
lanes = sorted((int(r.get("y")), int(r.get("height"))) for r in root.iter(name + "rect") if r.get("class") == "lane")
assert all(y + height <= below for (y, height), (below, _) in zip(lanes, lanes[1:])), lanes
assert all(any(y <= row and row + 10 <= y + height for y, height in lanes) for row in rows.values()), (lanes, rows)
END
run python3 picture.py picture.svg; says "in proportion, with names, places, arrows and legend" 0
holds "the page has the same one" grep -q 'Submit of A\[:n\]' page.html
run "$PCERE" timeline ompc --format jpeg -o x; says "a format that is none" 2 err 'svg or html'

# what is too much to be looked at
cc -O1 -o generate "$SOURCE/tests/bench/generate_trace.c"
mkdir many few
./generate many/ 60000
./generate few/ 6000
run "$PCERE" timeline many -o many.svg --json; says "a long run as a picture" 0
is "short events are joined" "$(json '.joined > 10000')" true
run "$PCERE" timeline few -o few.svg; says "a shorter one" 0
is "the picture of ten times as many events is no more than a few times as large" "$(($(stat -c %s many.svg) < 4 * $(stat -c %s few.svg)))" 1
run "$PCERE" timeline many --least 10ms -o coarser.json --json; says "made coarse" 0
is "slices and joined events are all events" "$(json '.slices > 0 and .joined > .slices')" true

# a hundred megabytes
./generate large.json 560000
is "the file has a hundred megabytes" "$(($(stat -c %s large.json) > 100000000))" 1
run "$PCERE" timeline large.json --no-arrows -o large.pftrace --json; says "all of it for Perfetto" 0 out '"slices": 559996'
"$PCERE" timeline large.json --no-arrows --format perfetto -o - | cat >piped.pftrace
run cmp piped.pftrace large.pftrace; says "the same through a pipe as in a file, whoever writes which part" 0
if command -v protoc >/dev/null; then
    is "each slice of it begins and ends" "$(protoc "-I$SOURCE/tests/cli" --decode=Trace perfetto.proto <large.pftrace | grep -oE 'SLICE_(BEGIN|END)' | sort | uniq -c | tr -s ' \n' ' ')" \
        " 559996 SLICE_BEGIN 559996 SLICE_END "
fi
run "$PCERE" timeline large.json --no-arrows --least 10ms -o overview.pftrace --json; says "an overview of it" 0
is "has all events in few slices" "$(json '.slices < 20000 and .joined > 550000')" true
is "and is a hundredth as large" "$(($(stat -c %s overview.pftrace) * 100 < $(stat -c %s large.pftrace)))" 1
run "$PCERE" timeline large.json --from 10ms --to 12ms -o window.pftrace --json; says "two milliseconds of it" 0
is "have what touches them" "$(json '.slices > 100 and .slices < 20000')" true
rm -f large.json large.pftrace piped.pftrace
finish
